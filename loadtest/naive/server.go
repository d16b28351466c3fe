package naive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"darboux/handlers/riemann/pb"

	"google.golang.org/protobuf/proto"
)

// maxFrame is the longest Msg taken, in bytes.
const maxFrame = 16 << 20

// Server answers Riemann requests on the listeners it is given.
type Server struct {
	index *index

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	done  bool
	wait  sync.WaitGroup
}

// New returns a Server with an empty index.
func New() *Server {
	return &Server{index: newIndex(), conns: make(map[net.Conn]struct{})}
}

// Serve accepts connections from l until l is closed, which is no error.
func (s *Server) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		if !s.admit(c) {
			c.Close()
			return nil
		}
		go s.serve(c)
	}
}

// Close closes all connections and waits for their goroutines. Close the
// listeners first.
func (s *Server) Close() {
	s.mu.Lock()
	s.done = true
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *Server) admit(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return false
	}
	s.conns[c] = struct{}{}
	s.wait.Add(1)
	return true
}

func (s *Server) serve(c net.Conn) {
	defer s.wait.Done()
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	in, out := bufio.NewReaderSize(c, 64<<10), bufio.NewWriterSize(c, 64<<10)
	for {
		body, err := readFrame(in)
		if err != nil {
			out.Flush() // what is owed to a client that ended in the middle of a frame; an error has nobody to hear it
			return
		}
		if err := writeFrame(out, s.answer(body)); err != nil {
			return
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return
			}
		}
	}
}

func readFrame(in *bufio.Reader) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if length > maxFrame {
		return nil, fmt.Errorf("frame of %d bytes is over the limit of %d", length, maxFrame)
	}
	body := make([]byte, length)
	_, err := io.ReadFull(in, body)
	return body, err
}

func writeFrame(out *bufio.Writer, m *pb.Msg) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	var header [4]byte
	binary.BigEndian.PutUint32(header[:], uint32(len(body)))
	if _, err := out.Write(header[:]); err != nil {
		return err
	}
	_, err = out.Write(body)
	return err
}

// Apply puts events into the index, as if a client had sent them.
func (s *Server) Apply(events ...*pb.Event) { s.index.apply(events) }

func (s *Server) answer(body []byte) *pb.Msg {
	var request pb.Msg
	if err := proto.Unmarshal(body, &request); err != nil {
		return refusal(err)
	}
	s.index.apply(request.Events)
	if request.Query == nil {
		return &pb.Msg{Ok: proto.Bool(true)}
	}
	selected, err := parse(request.Query.GetString_())
	if err != nil {
		return refusal(err)
	}
	return &pb.Msg{Ok: proto.Bool(true), Events: s.index.search(selected)}
}

func refusal(err error) *pb.Msg {
	return &pb.Msg{Ok: proto.Bool(false), Error: proto.String(err.Error())}
}
