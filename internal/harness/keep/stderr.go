package keep

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"sync"
)

const (
	// LogLimit bounds what the log gets of a program's standard error in one
	// turn, in bytes.
	LogLimit = 64 << 10
	// logLine bounds one line of it; a longer one is several.
	logLine = 4 << 10
)

// stderr brings a program's standard error to the log.
type stderr struct {
	log *slog.Logger

	mu      sync.Mutex
	written int  // since renew
	full    bool // said that the rest is left out
	last    string
}

// renew begins a turn: the log has room again, and what was said is old.
func (s *stderr) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written, s.full, s.last = 0, false, ""
}

// lastWords is the last line of this turn, cut, or "".
func (s *stderr) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// read reads to the end.
func (s *stderr) read(r io.Reader) {
	lines := bufio.NewReaderSize(r, logLine)
	for {
		line, _, err := lines.ReadLine()
		if err != nil {
			return // io.EOF; or the deadline after the guard was lost
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			s.add(line)
		}
	}
}

func (s *stderr) add(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = Excerpt(line)
	s.written += len(line)
	switch {
	case s.written <= LogLimit:
		s.log.Info("a harness wrote to standard error", "line", string(Visible(line)))
	case !s.full:
		s.full = true
		s.log.Warn("a harness wrote much to standard error; the rest of this turn's is left out", "limit", LogLimit)
	}
}
