package turn

import (
	"fmt"
	"unicode/utf8"

	"github.com/outrunner/outrunner/runner/wire"
)

// DeltaSize bounds the text of one delta, in bytes.
const DeltaSize = 16 << 10

// Pieces cuts text into parts of at most size bytes, never inside a character.
func Pieces(text string, size int) []string {
	var parts []string
	for len(text) > size {
		cut := size
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		parts = append(parts, text[:cut])
		text = text[cut:]
	}
	if text != "" {
		parts = append(parts, text)
	}
	return parts
}

// Safely calls emit; a panic in it ends the turn, not the runner.
func Safely(emit func(wire.HarnessEvent) error, e wire.HarnessEvent) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return emit(e)
}
