package child

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"darboux/loadtest/naive"
)

// beServer makes this test binary a server: its value says of what kind.
const beServer = "DARBOUX_LOAD_TEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(beServer) {
	case "":
		os.Exit(m.Run())
	case "good":
		serve(func(l net.Listener) { l.Close(); os.Exit(7) })
	case "deaf":
		serve(func(net.Listener) {})
	case "dies":
		fmt.Println("no such luck")
		os.Exit(3)
	}
}

func serve(onSignal func(net.Listener)) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	go naive.New().Serve(l)
	for range signals {
		onSignal(l)
	}
}

func command(kind string) string {
	return fmt.Sprintf("env %s=%s '%s' %s", beServer, kind, os.Args[0], Addr)
}

func TestStartAndStop(t *testing.T) {
	s, err := Start(t.Context(), command("good"))
	if err != nil {
		t.Fatal(err)
	}
	if s.PID() <= 0 || !strings.HasSuffix(s.Command, s.Address) {
		t.Errorf("process %d, command %q, address %s", s.PID(), s.Command, s.Address)
	}
	at, byItself := s.Stop(20 * time.Second)
	if !byItself || at.IsZero() || s.Exit() != "exit status 7" {
		t.Errorf("by itself: %v, at %v, %s", byItself, at, s.Exit())
	}
	s.Terminate() // of a process that has ended: nothing
}

func TestADeafServerIsKilled(t *testing.T) {
	s, err := Start(t.Context(), command("deaf"))
	if err != nil {
		t.Fatal(err)
	}
	if _, byItself := s.Stop(50 * time.Millisecond); byItself || s.Exit() != "signal: killed" {
		t.Errorf("by itself: %v, %s", byItself, s.Exit())
	}
}

func TestAServerThatDoesNotStartIsExplained(t *testing.T) {
	for _, test := range []struct{ command, want string }{
		{command("dies"), "exit status 3)\nno such luck"},
		{"/no/such/program {addr}", "not found"},
		{"program --tcp 127.0.0.1:5555", "{addr}"},
	} {
		if _, err := Start(t.Context(), test.command); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.command, err, test.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, "sleep 60; : {addr}"); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("a server that never listens: %v", err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var out tail
	for i := range 10_000 {
		fmt.Fprintf(&out, "line %d\n", i)
	}
	if s := out.String(); len(s) > outputTail || !strings.HasSuffix(s, "line 9999") {
		t.Errorf("%d bytes, ends with %q", len(s), s[len(s)-20:])
	}
}
