package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Duration is written as Go writes it: 90s, 1h30m.
type Duration time.Duration

// Size is a number of bytes, written as 1048576, 64KiB, 64MiB or 1GiB.
type Size int64

// valueError is a value that its type cannot be made from.
type valueError struct {
	line int
	err  error
}

// Error implements error.
func (e *valueError) Error() string { return e.err.Error() }

func badValue(node ast.Node, format string, args ...any) error {
	return &valueError{line: node.GetToken().Position.Line, err: fmt.Errorf(format, args...)}
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (d *Duration) UnmarshalYAML(node ast.Node) error {
	written := node.GetToken().Value
	parsed, err := time.ParseDuration(written)
	if err != nil {
		return badValue(node, "%q is not a duration: write it like 90s or 1h30m", written)
	}
	*d = Duration(parsed)
	return nil
}

var sizePattern = regexp.MustCompile(`^([0-9]{1,15})(|B|KiB|MiB|GiB)$`)

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (s *Size) UnmarshalYAML(node ast.Node) error {
	written := node.GetToken().Value
	m := sizePattern.FindStringSubmatch(written)
	if m == nil {
		return badValue(node, "%q is not a size: write bytes, or a number with KiB, MiB or GiB", written)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return badValue(node, "reading the size %q: %w", written, err)
	}
	shift := map[string]uint{"KiB": 10, "MiB": 20, "GiB": 30}[m[2]]
	if n > (1<<62)>>shift {
		return badValue(node, "%q is too large a size", written)
	}
	*s = Size(n << shift)
	return nil
}
