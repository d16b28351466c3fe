package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// snapshotFile names a file for a snapshot that is not there yet.
func snapshotFile(t *testing.T) string { return filepath.Join(t.TempDir(), "index.snapshot") }

func message(text string) func(logLine) bool {
	return func(l logLine) bool { return l.message() == text }
}

// A sender sends events on one connection as fast as they are acknowledged, some
// outstanding, and knows what was acknowledged last.
type sender struct {
	name  string
	acked atomic.Int64 // events
}

// services is how many services a sender has.
const services = 200

func (s *sender) event(i int64) *pb.Event {
	e := event(fmt.Sprintf("%s %d", s.name, i%services), i)
	e.Ttl = proto.Float32(3600)
	return e
}

// run connects and sends until the connection ends, which is no error.
func (s *sender) run(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	return s.send(conn)
}

func (s *sender) send(conn net.Conn) error {
	const outstanding = 64
	defer conn.Close() // an error could only tell that it is closed
	for sent := int64(0); ; sent++ {
		if writeMsgs(conn, &pb.Msg{Events: []*pb.Event{s.event(sent)}}) != nil {
			return s.readAcks(conn, sent)
		}
		if sent < s.acked.Load()+outstanding {
			continue
		}
		if _, err := readMsg(conn); err != nil {
			return nil // what is not acknowledged may be missing
		}
		s.acked.Add(1)
	}
}

// readAcks reads what is left when nothing more can be sent.
func (s *sender) readAcks(conn io.Reader, sent int64) error {
	for s.acked.Load() < sent {
		if _, err := readMsg(conn); err != nil {
			return nil
		}
		s.acked.Add(1)
	}
	return nil
}

// check checks that nothing that was acknowledged is missing: of each service there is
// the last event that was, or a later one.
func (s *sender) check(c *client) {
	c.t.Helper()
	found := map[string]int64{}
	for _, e := range c.query(fmt.Sprintf("service =~ %q", s.name+" %")) {
		found[e.GetService()] = e.GetMetricSint64()
	}
	acked := s.acked.Load()
	for i := max(0, acked-services); i < acked; i++ {
		e := s.event(i)
		if n, ok := found[e.GetService()]; !ok || n < i {
			c.t.Errorf("%s: event %d was acknowledged, but there is %d (%v)", e.GetService(), i, n, ok)
		}
	}
}

// Nothing that was acknowledged is missing after SIGTERM in the middle of the load and
// a start.
func TestRestartUnderLoadLosesNothing(t *testing.T) {
	file := snapshotFile(t)
	flags := []string{"--snapshot", file, "--loops", "2", "--handlers", "2"}
	senders := make([]*sender, 8)
	for i := range senders {
		senders[i] = &sender{name: fmt.Sprint("sender ", i)}
	}
	for round := range 2 {
		d := start(t, flags...)
		var all sync.WaitGroup
		for _, s := range senders {
			s.acked.Store(0)
			all.Go(func() {
				if err := s.run(d.addr); err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
			})
		}
		limit := newDeadline(t)
		for _, s := range senders {
			for s.acked.Load() < 2*services {
				limit.check(s.name + " is not served")
				time.Sleep(time.Millisecond) // a poll, bounded
			}
		}
		d.drain()
		all.Wait()
		d = start(t, flags...)
		c := dial(t, d.addr)
		for _, s := range senders {
			s.check(c)
		}
		if n := len(c.query(`service =~ "sender %"`)); n != len(senders)*services {
			t.Errorf("round %d: %d events, want %d", round, n, len(senders)*services)
		}
		c.done()
		d.drain()
	}
}

// written makes a snapshot file with so many events.
func written(t *testing.T, file string, events int) {
	t.Helper()
	d := start(t, "--snapshot", file)
	c := dial(t, d.addr)
	s := sender{name: "written"}
	var some []*pb.Event
	for i := range events {
		e := s.event(int64(i))
		e.Service = proto.String(fmt.Sprint("written ", i))
		e.Description = proto.String(strings.Repeat("d", 2000))
		some = append(some, e)
	}
	c.send(some...)
	c.done()
	d.drain()
}

// A torn file is an error that names offset and reason, and the process ends with 1,
// the file untouched; with --snapshot-salvage it starts with the whole frames, and keeps
// the damaged file under another name.
func TestDamagedSnapshot(t *testing.T) {
	file := snapshotFile(t)
	const events = 3000 // of 2 kB: several frames
	written(t, file, events)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	torn := whole[:len(whole)*2/3]
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for name, damaged := range map[string][]byte{"torn": torn, "flipped": flipped, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			file := snapshotFile(t)
			if err := os.WriteFile(file, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, stderr := runOnce(t, nil, "--tcp", "127.0.0.1:0", "--udp", "", "--http", "", "--snapshot", file)
			if code != exitFailed || !strings.Contains(stderr, file+" is damaged at byte ") || !strings.Contains(stderr, "--snapshot-salvage") {
				t.Errorf("exit code %d, stderr %s", code, stderr)
			}
			if strings.Contains(stderr, "msg=ready") {
				t.Error("it was ready")
			}
			same(t, file, damaged)
			d := start(t, "--snapshot", file, "--snapshot-salvage")
			l, ok := d.find(message("salvaged what is whole of a damaged snapshot"))
			if !ok || l.number(t, "offset") > int64(len(damaged)) || l.text("reason") == "" {
				t.Errorf("the log says %v", l)
			}
			c := dial(t, d.addr)
			n := len(c.query("true"))
			c.done()
			if n >= events || n != int(l.number(t, "events")) || (n == 0) != (name == "empty") {
				t.Errorf("%d events are there, of %d", n, events)
			}
			same(t, file+".damaged", damaged)
			d.drain()
			if in := eventsIn(t, file); in != int64(n) {
				t.Errorf("%d events in the next snapshot, want %d", in, n)
			}
		})
	}
}

// same checks what a file holds.
func same(t *testing.T, file string, want []byte) {
	t.Helper()
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, %v, want %d", file, len(got), err, len(want))
	}
}

// eventsIn reads a snapshot, which must be whole, and returns how many events it has.
func eventsIn(t *testing.T, file string) int64 {
	t.Helper()
	snapshot := index.Snapshot{Path: file}
	got, err := snapshot.Load(t.Context(), index.NewMap(index.Config{}), time.Now().UnixMicro())
	if err != nil {
		t.Fatal(err)
	}
	return got.Events
}

// A snapshot is written when SIGUSR1 asks for one; without --snapshot that is logged, and
// ends nothing.
func TestSnapshotOnSignal(t *testing.T) {
	file := snapshotFile(t)
	d := start(t, "--snapshot", file, "--snapshot-every", "0", "--self-events", "100ms")
	c := dial(t, d.addr)
	c.send(event("asked for", 1))
	d.signal(syscall.SIGUSR1)
	l := d.await(message("snapshot written"))
	if n := eventsIn(t, file); n < 1 || n != l.number(t, "events") {
		t.Errorf("%d events in the snapshot; the log says %v", n, l)
	}
	c.awaitMetric("snapshots written", atLeast(1))
	if n := c.metric("snapshots failed"); n != 0 {
		t.Errorf("%d snapshots failed", n)
	}

	without := start(t)
	without.signal(syscall.SIGUSR1)
	without.await(message("no snapshot is written: --snapshot names no file"))
	dial(t, without.addr).send(event("still served", 1))
}

// nobody is a user without rights.
const nobody = 65534

// startUnprivileged starts a daemon that may write only where everybody may.
func startUnprivileged(t *testing.T, flags ...string) *daemon {
	t.Helper()
	path := builtBinary(t)
	if err := os.Chmod(binaries, 0o755); err != nil {
		t.Fatal(err)
	}
	return startCommand(t, path, flags, func(cmd *exec.Cmd) {
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
	})
}

// readOnlyFolder makes a folder that an unprivileged daemon may look into, but not
// write to.
func readOnlyFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "darboux-readonly-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A missing right is logged and counted, and tried again; clients notice nothing, and
// when the right is there the snapshot is written.
func TestSnapshotWithoutRight(t *testing.T) {
	folder := readOnlyFolder(t)
	file := filepath.Join(folder, "index.snapshot")
	d := startUnprivileged(t, "--snapshot", file, "--snapshot-every", "100ms", "--self-events", "100ms")
	c := dial(t, d.addr)
	l := d.await(message("no snapshot was written; the last good one stays"))
	if !strings.Contains(l.text("error"), file) || !strings.Contains(l.text("error"), "permission denied") {
		t.Errorf("the log says %v", l)
	}
	c.awaitMetric("snapshots failed", atLeast(2))
	c.send(event("not disturbed", 1))
	if n := c.metric("snapshots written"); n != 0 {
		t.Errorf("%d snapshots were written", n)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	c.awaitMetric("snapshots written", atLeast(1))
	c.done()
	d.drain()
	if n := eventsIn(t, file); n < 1 {
		t.Error("the snapshot has no event")
	}
}

// The end without a right to write is told by the exit code and the log.
func TestLastSnapshotFails(t *testing.T) {
	folder := readOnlyFolder(t)
	d := startUnprivileged(t, "--snapshot", filepath.Join(folder, "index.snapshot"), "--snapshot-every", "0")
	d.signal(syscall.SIGTERM)
	if code := d.wait(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	d.ledger()
}

// A slip of the pen in the file's name is found before anything is served.
func TestSnapshotFileMustBePossible(t *testing.T) {
	folder := t.TempDir()
	for file, want := range map[string]string{
		filepath.Join(folder, "none", "x"): "no such file or directory",
		folder:                             "is no regular file",
		"/dev/null":                        "is no regular file",
	} {
		code, _, stderr := runOnce(t, nil, "--tcp", "127.0.0.1:0", "--udp", "", "--http", "", "--snapshot", file)
		if code != exitFailed || !strings.Contains(stderr, "--snapshot") || !strings.Contains(stderr, want) || strings.Contains(stderr, "msg=ready") {
			t.Errorf("%s: exit code %d, stderr %s", file, code, stderr)
		}
	}
}

// Any server that speaks the protocol takes a snapshot, sent to it by nc.
func TestSnapshotFeedsAnotherServer(t *testing.T) {
	nc := need(t, "nc", "netcat-openbsd")
	file := snapshotFile(t)
	const events = 1500
	written(t, file, events)
	addr := startNaive(t)
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	frames := 0
	for rest := snapshot; len(rest) > 0; frames++ {
		_, rest = frame.Next(rest)
	}
	replies := do(t, string(snapshot), nc, "-N", host, port)
	if replies != strings.Repeat(string(riemann.Ack), frames) {
		t.Errorf("%d bytes of replies to %d frames, want an acknowledgement each", len(replies), frames)
	}
	if n := len(dial(t, addr).query("true")); n != events {
		t.Errorf("the other server has %d events, want %d", n, events)
	}
}

// startNaive starts the load client's reference server, and returns its address.
func startNaive(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(loadClient(t), "naive", "--tcp", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // Wait says how it ended
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "naive listens at "))
}

// loadClient builds darboux-load.
func loadClient(t *testing.T) string {
	t.Helper()
	program := filepath.Join(binaries, "darboux-load")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../loadtest").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Killed at any moment, the daemon leaves a whole snapshot.
func TestKilledDaemonLeavesAWholeSnapshot(t *testing.T) {
	const kills = 10
	partial := killedInSnapshots(t, kills)
	t.Logf("%d of %d kills came before a snapshot was at its place", partial, kills)
}

// killedInSnapshots kills the daemon that often in the middle of snapshots, or nearly; each
// start finds all that was there before the first one. It returns how often there was a
// snapshot that was not whole.
func killedInSnapshots(t *testing.T, kills int) (partial int) {
	t.Helper()
	file := snapshotFile(t)
	const events = 500
	written(t, file, events)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range kills {
		d := start(t, "--snapshot", file, "--snapshot-every", "0")
		c := dial(t, d.addr)
		if n := len(c.query(`service =~ "written %"`)); n != events {
			t.Fatalf("round %d: %d events are there, want %d", round, n, events)
		}
		conn, err := net.Dial("tcp", d.addr) // before the kill
		if err != nil {
			t.Fatal(err)
		}
		s := &sender{name: "churn"}
		var all sync.WaitGroup
		all.Go(func() {
			if err := s.send(conn); err != nil {
				t.Error(err)
			}
		})
		for limit := newDeadline(t); s.acked.Load() == 0; time.Sleep(time.Millisecond) { // a poll, bounded
			limit.check("churn is not served")
		}
		d.signal(syscall.SIGUSR1)
		time.Sleep(time.Duration(random.IntN(30_000)) * time.Microsecond) // the random moment
		d.kill()
		all.Wait()
		if os.Remove(file+".tmp") == nil {
			partial++
		}
	}
	return partial
}

// kill ends the daemon at once; it does not have to say anything.
func (d *daemon) kill() {
	d.t.Helper()
	d.signal(syscall.SIGKILL)
	<-d.ended
}
