package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds one event of a runner's stream, in bytes.
const maxEvent = 32 << 20

var errEventTooLong = errors.New("an event is longer than 32 MiB")

// eventReader reads server-sent events; only their data matters here.
type eventReader struct{ r *bufio.Reader }

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the data of the next event that has any. An event that is cut
// off by the end of the stream is none.
func (e *eventReader) next() ([]byte, error) {
	var data []byte
	has := false
	for {
		line, err := e.line(maxEvent - len(data))
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if has {
				return data, nil
			}
			continue
		}
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if has {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
			has = true
		}
	}
}

// line reads one line without its end.
func (e *eventReader) line(limit int) ([]byte, error) {
	var out []byte
	for {
		part, err := e.r.ReadSlice('\n')
		if len(out)+len(part) > limit {
			return nil, errEventTooLong
		}
		out = append(out, part...)
		if err == nil {
			return bytes.TrimRight(out, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}
