package observe

import (
	"bytes"
	"io"
	"regexp"
	"sync"
)

// Secrets are the values that must never be printed: those that this process
// knows, by value, and those of others, by the shapes in which they appear. The
// zero value knows the shapes. It is safe for concurrent use.
type Secrets struct {
	mu     sync.RWMutex
	values [][]byte
}

// shortest is the length below which a value is not taken out by itself: a
// secret of three letters would tear words apart.
const shortest = 8

var redacted = []byte("[redacted]")

// Add makes known secrets unprintable from now on.
func (s *Secrets) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if len(v) >= shortest {
			s.values = append(s.values, []byte(v))
		}
	}
}

// shape is a place in which a secret stands: what comes before it is kept.
type shape struct{ find, put string }

// esc allows for the colours that a text log puts between a key and its value.
const esc = `(?:\x1b\[[0-9;]*m)*`

const secretName = `(?:token|secret|passw(?:or)?d|api[_-]?key|credentials?|authorization)`

const scheme = `(?:(?:bearer|basic)\s+)?`

// value is a quoted string, also one quoted inside another string, or a word.
const value = `(?:\[?\\*"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^\s,;&"'\\}\]]+)`

var shapes = compile(
	// https://user:password@host
	shape{`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s"'@]+@`, `$1[redacted]@`},
	// Authorization: Bearer abc, and a bearer in any prose.
	shape{`(?i)(\b(?:bearer|basic|digest|negotiate)\s+)[A-Za-z0-9._~+/=-]{8,}`, `$1[redacted]`},
	// Cookie headers hold spaces: all up to the end of the value.
	shape{`(?i)(\b(?:set-)?cookie\\*"?` + esc + `\s*[:=]` + esc + `\s*)(?:\[[^\]]*\]|\\*"(?:[^"\\]|\\.)*"|[^\n"\\]+)`, `$1[redacted]`},
	// token=abc, Token:abc, "api_key": "abc", ?access_token=abc. Counts such as
	// max_tokens=5 are no secrets, and end in s.
	shape{`(?i)([\w-]*` + secretName + `(?:\\*"\s*[:=]\s*|` + esc + `(?:=|:\b|:["\[])` + esc + `))` + scheme + value, `$1[redacted]`},
	// X-Some-Token: abc, Authorization: abc.
	shape{`(?i)((?:[\w-]+[-_]` + secretName + `|\bauthorization):\s+)` + scheme + value, `$1[redacted]`},
	// token: abc, in prose, where mostly a sentence follows.
	shape{`(?i)(\b` + secretName + `:\s+)[A-Za-z0-9._~+=-]{20,}`, `$1[redacted]`},
)

type compiledShape struct {
	find *regexp.Regexp
	put  []byte
}

func compile(list ...shape) []compiledShape {
	out := make([]compiledShape, len(list))
	for i, s := range list {
		out[i] = compiledShape{regexp.MustCompile(s.find), []byte(s.put)}
	}
	return out
}

// Redact returns text without secrets; text itself is left alone.
func (s *Secrets) Redact(text []byte) []byte {
	s.mu.RLock()
	for _, v := range s.values {
		text = bytes.ReplaceAll(text, v, redacted)
	}
	s.mu.RUnlock()
	for _, c := range shapes {
		text = c.find.ReplaceAll(text, c.put)
	}
	return text
}

// Writer redacts what is written to it on its way to w. One Write must hold
// whole lines, as slog's handlers write them.
func (s *Secrets) Writer(w io.Writer) io.Writer { return &sink{s, w} }

type sink struct {
	secrets *Secrets
	w       io.Writer
}

func (r *sink) Write(p []byte) (int, error) {
	if _, err := r.w.Write(r.secrets.Redact(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
