package testkit

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

// Output is what a process wrote, and when.
type Output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines []Line
	open  bool // the last line has no end yet
}

// Line is one line, without its end.
type Line struct {
	At   time.Time // when its first byte came
	Text string
}

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	now := time.Now()
	for part := range strings.Lines(string(b)) {
		if !o.open {
			o.lines = append(o.lines, Line{At: now})
		}
		o.open = !strings.HasSuffix(part, "\n")
		o.lines[len(o.lines)-1].Text += strings.TrimSuffix(part, "\n")
	}
	return len(b), nil
}

// String is everything so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Lines are the lines so far; the last may be incomplete.
func (o *Output) Lines() []Line {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Line(nil), o.lines...)
}
