package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// ReadFrame reads one reply and returns its body. A longer one than most bytes is an error
// before anything of it is read.
func ReadFrame(r io.Reader, most uint32) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if length > most {
		return nil, fmt.Errorf("reply of %d bytes is over the limit of %d bytes", length, most)
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}
