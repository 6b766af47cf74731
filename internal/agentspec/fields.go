package agentspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fields takes a mapping apart, key by key. The first fault is kept, and a key
// that nobody has asked for is one; done tells.
type fields struct {
	where string
	rest  map[string]any
	err   error
}

func newFields(where string, value any) (*fields, error) {
	if value == nil {
		return &fields{where: where}, nil
	}
	m, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s must be a mapping", where)
	}
	return &fields{where: where, rest: maps.Clone(m)}, nil
}

func (f *fields) take(key string) any {
	v := f.rest[key]
	delete(f.rest, key)
	return v
}

func (f *fields) skip(keys ...string) {
	for _, key := range keys {
		delete(f.rest, key)
	}
}

func (f *fields) fail(key, format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%s.%s %w", f.where, key, fmt.Errorf(format, args...))
	}
}

func (f *fields) text(key string) string {
	v := f.take(key)
	s, ok := v.(string)
	switch {
	case v == nil:
	case !ok:
		f.fail(key, "must be a text")
	case strings.Contains(s, "\x00"):
		f.fail(key, "has a NUL in it")
	}
	return s
}

func (f *fields) flag(key string) bool {
	v := f.take(key)
	b, ok := v.(bool)
	if v != nil && !ok {
		f.fail(key, "must be true or false")
	}
	return b
}

func (f *fields) number(key string, most uint64) int {
	switch v := f.take(key).(type) {
	case nil:
		return 0
	case uint64:
		if v > 0 && v <= most {
			return int(v) // small by now
		}
	}
	f.fail(key, "must be a whole number from 1 to %d", most)
	return 0
}

// texts reads a list of texts and numbers.
func (f *fields) texts(key string) []string {
	v := f.take(key)
	list, ok := v.([]any)
	if v != nil && !ok {
		f.fail(key, "must be a list")
	}
	var out []string
	for _, e := range list {
		s, ok := scalar(e)
		if !ok {
			f.fail(key, "must be a list of texts: put %v in quotes", e)
			return nil
		}
		out = append(out, s)
	}
	return out
}

// env reads variables and their values.
func (f *fields) env(key string) map[string]string {
	v := f.take(key)
	m, ok := v.(map[string]any)
	if v != nil && !ok {
		f.fail(key, "must be a mapping")
	}
	var out map[string]string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		s, ok := scalar(m[name])
		if !ok || name == "" || strings.ContainsAny(name, "=\x00") {
			f.fail(key, "must be variables and texts: %q is none, or its value is not in quotes", name)
			return nil
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = s
	}
	return out
}

// scalar is the text of a text or a number.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, !strings.Contains(v, "\x00")
	case uint64, int64, int, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// done returns what was wrong, or the keys that are left.
func (f *fields) done() error {
	if f.err != nil || len(f.rest) == 0 {
		return f.err
	}
	return fmt.Errorf("%s: there is no key %q", f.where, slices.Sorted(maps.Keys(f.rest))[0])
}
