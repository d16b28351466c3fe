package web

import (
	"strings"
	"testing"
)

const readToken, writeToken = "read-token-0123456789", "write-token-0123456789"

// Each way in which a request is refused, and beside it what is let in.
func TestAccess(t *testing.T) {
	const local, other = "127.0.0.1:5000", "192.0.2.7:5000"
	auth := func(token string) string { return "Authorization: Bearer " + token }
	for _, row := range []struct {
		name   string
		tokens string // which are set: r, w
		peer   string
		raw    string
		status int
	}{
		{"read here", "", local, asked("/index"), 200},
		{"read here by address", "", local, asked("/index", "Host: 127.0.0.1:5556"), 200},
		{"read here by another loopback address", "", local, asked("/index", "Host: 127.8.9.1"), 200},
		{"read here by IPv6", "", "[::1]:5000", asked("/index", "Host: [::1]:5556"), 200},
		{"read here by the machine's name", "", local, asked("/index", "Host: MyHost:5556"), 200},
		{"read here by localhost with a dot", "", local, asked("/index", "Host: localhost."), 200},
		{"a rebound name reads", "", local, asked("/index", "Host: evil.example:5556"), 403},
		{"a rebound name reads over IPv6", "", "[::1]:5000", asked("/index", "Host: evil.example"), 403},
		{"a rebound name with ours in it", "", local, asked("/index", "Host: localhost.evil.example"), 403},
		{"a rebound name asks for health", "", local, asked("/healthz", "Host: evil.example"), 403},
		{"a rebound name writes", "", local, with("POST", "/events", "{}", "Host: evil.example"), 403},
		{"a rebound name debugs", "", local, asked("/debug/pipelines", "Host: evil.example"), 403},
		{"an address of another network as Host", "", local, asked("/index", "Host: 192.0.2.1"), 403},
		{"read from elsewhere by any name", "", other, asked("/index", "Host: darboux.example"), 200},
		{"health from elsewhere", "", other, asked("/healthz", "Host: 10.0.0.1:5556"), 200},

		{"HTTP/1.0 without Host reads", "", local, "GET /index HTTP/1.0\r\n\r\n", 200},
		{"HTTP/1.0 with an empty Host reads", "", local, "GET /index HTTP/1.0\r\nHost:\r\n\r\n", 200},
		{"HTTP/1.0 without Host debugs", "", local, "GET /debug/pipelines HTTP/1.0\r\n\r\n", 200},
		{"HTTP/1.0 with a rebound name reads", "", local, "GET /index HTTP/1.0\r\nHost: evil.example\r\n\r\n", 403},
		{"HTTP/1.0 with a rebound name in its URL", "", local, "GET http://evil.example/index HTTP/1.0\r\n\r\n", 403},
		{"a rebound name in the URL alone", "", local, asked("http://evil.example/index"), 403},
		{"our name in the URL alone", "", local, asked("http://localhost/index", "Host: evil.example"), 200},
		{"HTTP/1.0 without Host from elsewhere debugs", "", other, "GET /debug/pipelines HTTP/1.0\r\n\r\n", 403},
		{"HTTP/1.0 without Host but with an origin writes", "", local, "POST /events HTTP/1.0\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}", 403},

		{"write here", "", local, with("POST", "/events", "{}"), 200},
		{"write here from our own page", "", local, with("POST", "/events", "{}", "Host: localhost:5556", "Origin: http://localhost:5556"), 200},
		{"a foreign page writes", "", local, with("POST", "/events", "{}", "Origin: http://evil.example"), 403},
		{"a page of another port writes", "", local, with("POST", "/events", "{}", "Host: localhost:5556", "Origin: http://localhost:3000"), 403},
		{"a page without origin writes", "", local, with("POST", "/events", "{}", "Origin: null"), 403},
		{"a foreign page writes from elsewhere", "", other, with("POST", "/events", "{}", "Origin: http://evil.example"), 403},
		{"write from elsewhere", "", other, with("POST", "/events", "{}"), 200},
		{"a foreign page reads", "", local, asked("/index", "Origin: http://dash.example"), 200},

		{"a foreign page reads by a form", "", local, with("POST", "/index", "query=true", formType, "Origin: http://dash.example"), 200},
		{"a rebound name reads by a form", "", local, with("POST", "/index", "query=true", formType, "Host: evil.example"), 403},
		{"read by a form while only reading has a token", "r", other, with("POST", "/index", "query=true", formType, auth(readToken)), 200},
		{"read by a form without its token", "r", local, with("POST", "/index", "query=true", formType), 401},

		{"read without its token", "r", local, asked("/index"), 401},
		{"metrics without the token", "r", local, asked("/metrics"), 401},
		{"read with a wrong token", "r", local, asked("/index", auth("wrong-token-0123456789")), 401},
		{"read with a token too long", "r", local, asked("/index", auth(readToken+"x")), 401},
		{"read with half a token", "r", local, asked("/index", auth(readToken[:8])), 401},
		{"read with another scheme", "r", local, asked("/index", "Authorization: Basic "+readToken), 401},
		{"read with an empty token", "r", local, asked("/index", "Authorization: Bearer "), 401},
		{"read with its token", "r", local, asked("/index", auth(readToken)), 200},
		{"read with its token, scheme in capitals", "r", other, asked("/index", "Authorization: BEARER "+readToken), 200},
		{"read with its token by any name", "r", local, asked("/index", auth(readToken), "Host: proxy.example"), 200},
		{"read with the token for writing", "rw", other, asked("/index", auth(writeToken)), 200},
		{"write while only reading has a token", "r", local, with("POST", "/events", "{}"), 403},
		{"write with the token for reading alone", "r", local, with("POST", "/events", "{}", auth(readToken)), 403},
		{"health needs no token", "rw", other, asked("/healthz"), 200},
		{"readiness needs no token", "rw", other, asked("/readyz"), 200},

		{"write without its token", "w", local, with("POST", "/events", "{}"), 401},
		{"write with the token for reading", "rw", local, with("POST", "/events", "{}", auth(readToken)), 403},
		{"write with its token", "w", other, with("POST", "/events", "{}", auth(writeToken)), 200},
		{"a foreign page with the token writes", "w", local, with("POST", "/events", "{}", auth(writeToken), "Origin: http://dash.example"), 200},
		{"read where only writing has a token", "w", local, asked("/index"), 200},
		{"another name reads with the token for writing", "w", local, asked("/index", "Host: proxy.example", auth(writeToken)), 200},
		{"another name asks for health with a token nobody set", "", local, asked("/healthz", "Host: evil.example", auth("")), 403},
		{"a rebound name reads where only writing has a token", "w", local, asked("/index", "Host: evil.example"), 403},

		{"debug here", "", local, asked("/debug/pipelines"), 200},
		{"debug here though tokens are set", "rw", local, asked("/debug/pipelines"), 200},
		{"debug from elsewhere", "", other, asked("/debug/pipelines"), 403},
		{"debug from elsewhere with the token for reading", "rw", other, asked("/debug/pprof/", auth(readToken)), 403},
		{"debug from elsewhere with the token for writing", "rw", other, asked("/debug/pprof/", auth(writeToken)), 200},
		{"a foreign page's picture debugs", "", local, asked("/debug/pprof/profile?seconds=1", "Sec-Fetch-Site: cross-site"), 403},
		{"a neighbour's picture debugs", "", local, asked("/debug/pipelines", "Sec-Fetch-Site: same-site"), 403},
		{"our own page debugs", "", local, asked("/debug/pipelines", "Sec-Fetch-Site: same-origin"), 200},
		{"who typed the address debugs", "", local, asked("/debug/pipelines", "Sec-Fetch-Site: none"), 200},
		{"a foreign page's form writes", "", local, with("POST", "/events", "{}", "Sec-Fetch-Site: cross-site"), 403},
		{"a foreign page debugs", "", local, asked("/debug/pipelines", "Origin: http://evil.example"), 403},
		{"debug through a proxy of this machine", "rw", local, asked("/debug/pipelines", "Host: public.example"), 403},
	} {
		t.Run(row.name, func(t *testing.T) {
			api := testAPI()
			api.Access = Access{Names: []string{"myhost"}, CORS: "*"}
			if strings.Contains(row.tokens, "r") {
				api.Access.ReadToken = readToken
			}
			if strings.Contains(row.tokens, "w") {
				api.Access.WriteToken = writeToken
			}
			l := newLine(t, testHTTP(api.Handler()))
			l.peer = row.peer
			resp, body := l.get(row.raw)
			if resp.StatusCode != row.status {
				t.Fatalf("status %d, %q; want %d", resp.StatusCode, body, row.status)
			}
			if (resp.Header.Get("WWW-Authenticate") != "") != (row.status == 401) {
				t.Error("WWW-Authenticate stands where it should not, or is missing")
			}
			if strings.Contains(body, readToken) || strings.Contains(body, writeToken) {
				t.Error("a token is in the reply")
			}
			if n := api.Store.Stats().Entries; row.status != 200 && n != 0 {
				t.Errorf("%d events were written by a refused request", n)
			}
		})
	}
}

func TestCORS(t *testing.T) {
	for _, row := range []struct {
		cors, raw string
		status    int
		origin    string // Access-Control-Allow-Origin
	}{
		{"*", asked("/index", "Origin: http://dash.example"), 200, "*"},
		{"*", asked("/metrics"), 200, "*"},
		{"*", asked("/index", "Host: evil.example"), 403, "*"},
		{"*", with("OPTIONS", "/index", "", "Origin: http://dash.example", "Access-Control-Request-Method: GET"), 204, "*"},
		{"*", with("OPTIONS", "/events", "", "Origin: http://dash.example", "Access-Control-Request-Method: POST"), 204, ""},
		{"*", with("POST", "/events", "{}"), 200, ""},
		{"*", asked("/debug/pipelines"), 200, ""},
		{"", asked("/index", "Origin: http://dash.example"), 200, ""},
		{"https://dash.example", asked("/index", "Origin: http://other.example"), 200, "https://dash.example"},
	} {
		api := testAPI()
		api.Access.CORS = row.cors
		l := newLine(t, testHTTP(api.Handler()))
		resp, body := l.get(row.raw)
		if resp.StatusCode != row.status || resp.Header.Get("Access-Control-Allow-Origin") != row.origin {
			t.Errorf("%q, %.40q: status %d, origin %q, %q", row.cors, row.raw, resp.StatusCode, resp.Header.Get("Access-Control-Allow-Origin"), body)
		}
	}
}
