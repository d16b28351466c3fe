package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// These tests run the collectors and relays that people use, each as its own process
// with its own files, against the started daemon.

// fill makes a file of a template in testdata, with what stands in braces replaced.
func fill(t *testing.T, dir, name string, values ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(strings.NewReplacer(values...).Replace(string(b))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// socketDir is a folder whose name is short enough for a socket in it.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// A service is a program that runs until it is told to end.
type service struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   bytes.Buffer // read when ended is closed
	ended chan struct{}
	err   error
}

func runService(t *testing.T, program string, args ...string) *service {
	t.Helper()
	s := &service{t: t, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		<-s.ended
	})
	return s
}

// over reports whether the program has ended.
func (s *service) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// stop tells the program to end and waits until it has. It returns how.
func (s *service) stop() error {
	s.t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("%s does not end", s.cmd.Path)
	}
	return s.err
}

// speak sends text to a unix socket, shuts down its sending side and returns the answer.
// The socket's server may still be at its start.
func speak(t *testing.T, s *service, socket, text string) (string, error) {
	t.Helper()
	limit := newDeadline(t)
	c, err := net.Dial("unix", socket)
	for ; err != nil; c, err = net.Dial("unix", socket) {
		if s.over() {
			return "", fmt.Errorf("%s has ended: %w", s.cmd.Path, errors.Join(s.err, errors.New(s.out.String())))
		}
		limit.check(fmt.Sprintf("%s does not listen at its socket: %v", s.cmd.Path, err))
		time.Sleep(10 * time.Millisecond) // a poll, bounded by the deadline above
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(text)); err != nil {
		return "", err
	}
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		return "", err
	}
	var answer bytes.Buffer
	_, err = answer.ReadFrom(c)
	return answer.String(), err
}

// carbon-c-relay passes lines on as they came, bad ones, too.
func TestCarbonRelay(t *testing.T) {
	program := need(t, "carbon-c-relay", "carbon-c-relay")
	d := start(t, "--graphite", "127.0.0.1:0", "--expire-every", "24h", "--graphite-template", "servers.* .host.measurement*")
	dir := socketDir(t)
	conf := fill(t, dir, "relay.conf", "{dir}", dir, "{tcp}", listenerAddr(t, d, "--graphite", "tcp"), "{udp}", listenerAddr(t, d, "--graphite", "udp"))
	want := entries{}
	var lines strings.Builder
	put := func(host, service, value string, metric float64, at string, seconds *int64, attributes ...*pb.Attribute) {
		path := service
		if host != "" {
			path = "servers." + host + "." + service
		}
		e := &pb.Event{Service: &service, MetricD: &metric, Time: seconds, Ttl: proto.Float32(180), Attributes: attributes}
		if host != "" {
			e.Host = &host
		}
		want.put(e)
		fmt.Fprintf(&lines, "%s %s %s\n", path, value, at)
	}
	for i := range 300 {
		put(fmt.Sprintf("web%d", i%7), fmt.Sprintf("cpu.%d", i), fmt.Sprint(i, ".5"), float64(i)+0.5, "1796036977", proto.Int64(1_796_036_977))
		put("", fmt.Sprintf("udp.m%d", i), fmt.Sprint(i), float64(i), "1796036977", proto.Int64(1_796_036_977))
	}
	put("web9", "exponent", "1e3", 1000, "-1", nil)
	put("", "m;dc=eu", "7", 7, "1796036978", proto.Int64(1_796_036_978), &pb.Attribute{Key: proto.String("dc"), Value: proto.String("eu")})
	lines.WriteString("servers.web9.bad nan 1796036977\nservers.web9.bad;x 1 1796036977\n")
	s := runService(t, program, "-f", conf)
	if _, err := speak(t, s, filepath.Join(dir, "sock"), lines.String()); err != nil {
		t.Fatal(err)
	}
	awaitEntries(t, d, want, nil)
	if err := s.stop(); err != nil {
		t.Errorf("carbon-c-relay: %v\n%s", err, s.out.String())
	}
	d.await(func(l logLine) bool {
		return l.message() == "bad graphite line: value not finite" && strings.Contains(l.text("text"), "servers.web9.bad nan")
	})
}

func TestSyslogNG(t *testing.T) {
	program := need(t, "syslog-ng", "syslog-ng-core and syslog-ng-mod-riemann")
	d := start(t, "--udp", "127.0.0.1:0")
	dir := t.TempDir()
	conf := fill(t, dir, "syslog-ng.conf", "{port}", portOf(t, listenerAddr(t, d, "--udp", "udp")))
	if out, err := try(t, "", program, "-s", "-f", conf); err != nil {
		if strings.Contains(out, "riemann") {
			leaveOut(t, "syslog-ng has no Riemann destination (Debian package syslog-ng-mod-riemann)")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	var input strings.Builder
	want := entries{}
	for i := range 50 {
		text := fmt.Sprintf("line %d", i)
		input.WriteString(text + "\n")
		want.put(&pb.Event{
			Host: proto.String("web1"), Service: proto.String("syslog " + text), State: proto.String("ok"), Description: &text,
			MetricSint64: proto.Int64(int64(len(text))), Ttl: proto.Float32(300), Tags: []string{"syslog"},
			Attributes: []*pb.Attribute{{Key: proto.String("text"), Value: &text}},
		})
	}
	do(t, input.String(), program, "-F", "-f", conf, "--no-caps", "--persist-file", filepath.Join(dir, "persist"),
		"--pidfile", filepath.Join(dir, "pid"), "--control", filepath.Join(dir, "control"))
	for key, text := range want {
		want[key] = text[:strings.LastIndex(text, " at ")] + " at now"
	}
	awaitEntries(t, d, want, nil)
}

func TestNetcatSendsLines(t *testing.T) {
	nc := need(t, "nc", "netcat-openbsd")
	d := start(t, "--graphite", "127.0.0.1:0", "--opentsdb", "127.0.0.1:0")
	split := func(flag, network string) []string {
		host, port, err := net.SplitHostPort(listenerAddr(t, d, flag, network))
		if err != nil {
			t.Fatal(err)
		}
		return []string{host, port}
	}
	want := entries{}
	put := func(host *string, service string, metric float64, attributes ...*pb.Attribute) {
		want.put(&pb.Event{Host: host, Service: &service, MetricD: &metric, Ttl: proto.Float32(180), Attributes: attributes})
	}
	put(nil, "a.b.c", 1)
	put(nil, "a.b.d", 2.5)
	put(nil, "no.newline", 3)
	do(t, "a.b.c 1\r\na.b.d 2.5\nno.newline 3", nc, append([]string{"-N"}, split("--graphite", "tcp")...)...)
	put(proto.String("web3"), "udp", 4)
	do(t, "udp;host=web3 4", nc, append([]string{"-u", "-w1"}, split("--graphite", "udp")...)...)
	put(proto.String("web4"), "cpu;n=0", 5, &pb.Attribute{Key: proto.String("n"), Value: proto.String("0")})
	out := do(t, "version\nput cpu N 5 host=web4 n=0\nput cpu\n", nc, append([]string{"-N"}, split("--opentsdb", "tcp")...)...)
	if !strings.HasPrefix(out, "darboux ") || !strings.HasSuffix(out, "\nnumber of fields: \"put cpu\"\n") {
		t.Errorf("OpenTSDB's lines are answered %q", out)
	}
	awaitEntries(t, d, want, nil)
}

func TestRiemannClientOverUDP(t *testing.T) {
	program := need(t, "riemann-client", "riemann-c-client")
	d := start(t, "--udp", "127.0.0.1:0")
	host, port, err := net.SplitHostPort(listenerAddr(t, d, "--udp", "udp"))
	if err != nil {
		t.Fatal(err)
	}
	do(t, "", program, "send", "-U", "-h", "web1", "-S", "over udp", "-s", "ok", "-i", "7", "-L", "300", host, port)
	want := entries{}
	want.put(&pb.Event{
		Host: proto.String("web1"), Service: proto.String("over udp"), State: proto.String("ok"), MetricSint64: proto.Int64(7), Ttl: proto.Float32(300),
		Attributes: []*pb.Attribute{{Key: proto.String("x-client"), Value: proto.String("riemann-c-client")}}, // it says so by itself
	})
	awaitEntries(t, d, want, nil)
}
