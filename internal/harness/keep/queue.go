package keep

import (
	"errors"
	"sync"
)

// maxWaiting bounds what waits for a program that does not read, in bytes. The
// line that begins a turn is not counted: there is one at a time, and it is as
// long as the conversation.
const maxWaiting = 8 << 20

// ErrNotReading says that too much waits for a program that does not read.
var ErrNotReading = errors.New("does not read what it is told")

// queue has the lines that a program is to read, in order. Nobody waits to put
// one in.
type queue struct {
	mu     sync.Mutex
	lines  [][]byte
	size   int // of those that count
	closed bool
	ready  chan struct{} // has a token when there is something to look at
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// open puts in the line that begins a turn. What still waits is of an earlier
// one and of no use to anybody.
func (q *queue) open(line []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines, q.size = [][]byte{line}, 0
	q.wake()
}

// put puts in any other line.
func (q *queue) put(line []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil // nobody is left to read it
	}
	if q.size += len(line); q.size > maxWaiting {
		q.size -= len(line)
		return ErrNotReading
	}
	q.lines = append(q.lines, line)
	q.wake()
	return nil
}

// append puts in a line of any length, as long as what waits is not too much.
func (q *queue) append(line []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return nil // nobody is left to read it
	case q.size > maxWaiting:
		return ErrNotReading
	}
	q.size += len(line)
	q.lines = append(q.lines, line)
	q.wake()
	return nil
}

// close ends the queue: take returns false from now on.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.lines = true, nil
	q.wake()
}

// wake: the caller holds mu.
func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take waits for a line; ok is false at the end.
func (q *queue) take() (line []byte, ok bool) {
	for {
		if line, closed := q.next(); closed || line != nil {
			return line, !closed
		}
		<-q.ready
	}
}

func (q *queue) next() (line []byte, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.lines) == 0 {
		return nil, q.closed
	}
	line, q.lines = q.lines[0], q.lines[1:]
	if len(q.lines) == 0 {
		q.lines = nil
	}
	q.size = max(0, q.size-len(line))
	return line, false
}
