# Sends an event of each kind of metric, one with a description of 100 kB, and prints
# what queries find. Usage: client.rb HOST PORT
require 'riemann/client'

client = Riemann::Client.new(host: ARGV[0], port: ARGV[1].to_i, timeout: 30)
client.tcp << { host: 'rb', service: 'int', state: 'ok', metric: 42, tags: %w[a b], ttl: 300 }
client.tcp << { host: 'rb', service: 'float', state: 'warn', metric: 1.25, description: 'd' * 100_000 }
client.tcp << { host: 'rb', service: 'none', state: 'critical' }

client.tcp['host = "rb"'].sort_by(&:service).each do |e|
  puts [e.service, e.state, e.metric.inspect, e.description.to_s.size, (e.tags || []).join('+'), e.ttl.inspect].join(' ')
end

begin
  client.tcp['service = ']
  puts 'no error'
rescue Riemann::Client::ServerError => e
  puts e.message[0, 12]
end
puts client.tcp['host = "nobody"'].size
client.tcp.close
