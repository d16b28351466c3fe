package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// mostCollectds is how often collectd is started at most: its plugins crash by
// themselves now and then.
const mostCollectds = 4

// A collectd runs until the test's end. It is killed then, because its Riemann plugin
// may wait for its own lock when it is told to end.
type collectd struct {
	*service
	t            *testing.T
	conf, socket string
	starts       int
}

// tell gives collectd commands. One that died by a signal of its own is started again;
// then restarted is true, and what it was told before is forgotten.
func (c *collectd) tell(commands string) (restarted bool) {
	c.t.Helper()
	for {
		if c.service == nil {
			c.starts++
			c.service = runService(c.t, need(c.t, "collectd", "collectd-core"), "-f", "-C", c.conf)
			restarted = true
		}
		answer, err := speak(c.t, c.service, c.socket, commands)
		if strings.Contains(answer, "-1") {
			c.t.Fatalf("collectd refuses a command:\n%s", answer)
		}
		if err == nil && !c.over() {
			return restarted
		}
		c.judge(err)
	}
}

// judge decides whether a collectd that does not answer may be started again.
func (c *collectd) judge(why error) {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("collectd lives but does not answer: %v", why)
	}
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		c.t.Fatalf("collectd ended by itself: %v\n%s", c.err, c.out.String())
	}
	if c.starts == mostCollectds {
		c.t.Fatalf("collectd died %d times by a signal of its own: %v", c.starts, c.err)
	}
	c.t.Logf("collectd died by a signal of its own (%v) and is started again, %d of at most %d times", c.err, c.starts, mostCollectds-1)
	c.service = nil
}

// putvals are commands that give collectd values.
const putvals = `PUTVAL web1/load/load interval=10 1796036977:0.5:0.25:0.125
PUTVAL web1/memory/memory-used interval=10 1796036977:4096
PUTVAL web1/cpu-0/percent-idle interval=10 1796036977:97.5
`

// plainLines and taggedLines are what collectd's Graphite plugin makes of them, behind a
// prefix.
const (
	plainLines = `web1.load.load.shortterm 0.5 1796036977
web1.load.load.midterm 0.25 1796036977
web1.load.load.longterm 0.125 1796036977
web1.memory.memory-used 4096 1796036977
web1.cpu-0.percent-idle 97.5 1796036977
`
	taggedLines = `load.load.shortterm;host=web1;plugin=load;type=load;ds_name=shortterm 0.5 1796036977
load.load.midterm;host=web1;plugin=load;type=load;ds_name=midterm 0.25 1796036977
load.load.longterm;host=web1;plugin=load;type=load;ds_name=longterm 0.125 1796036977
memory.memory;host=web1;plugin=memory;type=memory;type_instance=used 4096 1796036977
cpu.percent;host=web1;plugin=cpu;plugin_instance=0;type=percent;type_instance=idle 97.5 1796036977
`
)

// collected are the entries that all of collectd's outputs make of the values.
func collected() entries {
	want := entries{}
	for _, network := range []string{"tcp", "udp"} {
		for line := range strings.Lines(plainLines) {
			want.putLines([]byte(network + "." + line))
		}
		for line := range strings.Lines(taggedLines) {
			want.putLines([]byte(network + "tags." + line))
		}
	}
	put := func(service string, metric float64, attributes ...string) {
		e := &pb.Event{
			Host: proto.String("web1"), Service: &service, Time: proto.Int64(1_796_036_977), MetricD: &metric,
			Ttl: proto.Float32(30), Tags: []string{"collectd"},
		}
		for i := 0; i < len(attributes); i += 2 {
			e.Attributes = append(e.Attributes, &pb.Attribute{Key: &attributes[i], Value: &attributes[i+1]})
		}
		want.put(e)
	}
	for i, name := range []string{"shortterm", "midterm", "longterm"} {
		put("load/load/"+name, 0.5/float64(int(1)<<i), "plugin", "load", "type", "load", "ds_name", name, "ds_type", "gauge", "ds_index", fmt.Sprint(i))
	}
	put("memory/memory-used", 4096, "plugin", "memory", "type", "memory", "ds_name", "value", "type_instance", "used", "ds_type", "gauge", "ds_index", "0")
	put("cpu-0/percent-idle", 97.5, "plugin", "cpu", "type", "percent", "ds_name", "value", "plugin_instance", "0", "type_instance", "idle", "ds_type", "gauge", "ds_index", "0")
	return want
}

func TestCollectd(t *testing.T) {
	need(t, "collectd", "collectd-core")
	d := start(t, "--udp", "127.0.0.1:0", "--graphite", "127.0.0.1:0", "--expire-every", "24h")
	dir := socketDir(t)
	conf := fill(t, dir, "collectd.conf", "{dir}", dir, "{riemann}", portOf(t, listenerAddr(t, d, "--udp", "udp")),
		"{graphite-tcp}", portOf(t, listenerAddr(t, d, "--graphite", "tcp")), "{graphite-udp}", portOf(t, listenerAddr(t, d, "--graphite", "udp")))
	c := &collectd{t: t, conf: conf, socket: filepath.Join(dir, "sock")}
	c.tell(putvals)
	want := collected()
	awaitEntries(t, d, want, func(got entries) {
		for key, text := range got {
			got[key] = strings.Replace(text, `description ""`, "description none", 1) // its plugin sends one or not, as chance has it
		}
		if !maps.Equal(got, want) && c.tell("FLUSH\n") {
			c.tell(putvals)
		}
	})
	t.Logf("collectd was started %d times", c.starts)
}
