// Package child starts a server for a run, waits until it answers, and stops it
// again. A server never outlives the client.
package child

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Addr stands in a server's command for the address, on loopback, at which it
// shall listen; Host and Port for its parts.
const (
	Addr = "{addr}"
	Host = "{host}"
	Port = "{port}"
)

const (
	startTimeout = 60 * time.Second // until it answers: a JVM takes its time
	retryAfter   = 20 * time.Millisecond
	outputTail   = 4 << 10 // bytes of its output that an error tells
)

// Server is a running server.
type Server struct {
	Command string // as run, with its address
	Address string
	cmd     *exec.Cmd
	output  *tail
	ended   chan struct{} // closed when the process has ended
	endedAt time.Time     // written before ended is closed
}

// Start runs command, in which Addr, or Host and Port, must stand, by the shell
// and returns when the server answers an empty Msg.
func Start(ctx context.Context, command string) (*Server, error) {
	if !strings.Contains(command, Addr) && !strings.Contains(command, Port) {
		return nil, fmt.Errorf("server command %q: must say with %s (or %s and %s) where to listen", command, Addr, Host, Port)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	command = strings.NewReplacer(Addr, address, Host, host, Port, port).Replace(command)
	s := &Server{Command: command, Address: address, output: &tail{}, ended: make(chan struct{})}
	if err := s.start(); err != nil {
		return nil, fmt.Errorf("server %q: %w", command, err)
	}
	if err := s.await(ctx); err != nil {
		s.kill()
		return nil, fmt.Errorf("server %q: %w%s", command, err, s.output)
	}
	return s, nil
}

// freeAddress is one where nobody listens now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// start runs the command. The kernel kills the process when the thread that
// started it ends, so one thread does nothing but wait for it.
func (s *Server) start() error {
	s.cmd = exec.Command("/bin/sh", "-c", "exec "+s.Command)
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := s.cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		s.cmd.Wait() // how it ended is in ProcessState
		s.endedAt = time.Now()
		close(s.ended)
	}()
	return <-started
}

// await returns when the server has answered.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("has ended before it answered (%s)", s.Exit())
		case <-ctx.Done():
			return fmt.Errorf("does not answer: %w", err)
		case <-time.After(retryAfter):
		}
	}
}

// probe sends an empty Msg and awaits the head of a reply.
func (s *Server) probe(ctx context.Context) error {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := c.Write(make([]byte, 4)); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 6))
	return err
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Terminate asks it to stop, and does not wait.
func (s *Server) Terminate() {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic("BUG: an own child takes no signal: " + err.Error())
	}
}

// Stop asks it to stop and waits as Await does.
func (s *Server) Stop(grace time.Duration) (at time.Time, byItself bool) {
	s.Terminate()
	return s.Await(grace)
}

// Await waits for the end of a server that was told to stop; after grace it is
// killed. It returns when the process ended, and whether it did so by itself.
func (s *Server) Await(grace time.Duration) (at time.Time, byItself bool) {
	select {
	case <-s.ended:
		return s.endedAt, true
	case <-time.After(grace):
		s.kill()
		return s.endedAt, false
	}
}

func (s *Server) kill() {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic("BUG: an own child can't be killed: " + err.Error())
	}
	<-s.ended
}

// Exit is the exit status of a server that has ended.
func (s *Server) Exit() string {
	<-s.ended
	return s.cmd.ProcessState.String()
}
