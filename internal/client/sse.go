package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event, in bytes; a message may be 10 MiB.
const maxEvent = 32 << 20

// Event is one event of a session's stream.
type Event struct {
	ID   string // "" for what is not stored: deltas and heartbeats
	Type string
	Data json.RawMessage
}

// errDone is the end that the server chose: nothing will follow.
var errDone = errors.New("the stream is over")

// reader reads server-sent events.
type reader struct {
	lines *bufio.Reader
}

func newReader(r io.Reader) *reader { return &reader{bufio.NewReaderSize(r, 64<<10)} }

// next returns the next event that has data. A stream that ends inside an event
// loses that event, as the format demands. It returns errDone after [DONE].
func (r *reader) next() (Event, error) {
	var ev Event
	var data []byte
	some := false
	for {
		line, err := r.line(maxEvent - len(data))
		if err != nil {
			return Event{}, err
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && some:
			return finish(ev, data)
		case string(field) == "event":
			ev.Type = string(value)
		case string(field) == "id":
			ev.ID = string(value)
		case string(field) == "data":
			if some {
				data = append(data, '\n')
			}
			data, some = append(data, value...), true
		}
	}
}

func finish(ev Event, data []byte) (Event, error) {
	if string(data) == "[DONE]" {
		return Event{}, errDone
	}
	if !json.Valid(data) {
		return Event{}, fmt.Errorf("an event of type %q is not JSON", ev.Type)
	}
	ev.Data = data
	var typed struct {
		Type string `json:"type"`
	}
	if err := decode(data, &typed); err != nil {
		return Event{}, fmt.Errorf("reading an event: %w", err)
	}
	if typed.Type != "" {
		ev.Type = typed.Type
	}
	return ev, nil
}

// line returns the next line without its end.
func (r *reader) line(limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit:
			return nil, fmt.Errorf("an event is larger than %d bytes", maxEvent)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
