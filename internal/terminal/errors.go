package terminal

import (
	"fmt"

	"github.com/outrunner/outrunner/runner/wire"
)

// refusal is a sentence for the user that matches one of the port's errors.
type refusal struct {
	kind error
	text string
}

func (r refusal) Error() string        { return r.text }
func (r refusal) Is(target error) bool { return target == r.kind }

func refuse(format string, args ...any) error {
	return refusal{kind: wire.ErrRejected, text: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) error {
	return refusal{kind: wire.ErrConflict, text: fmt.Sprintf(format, args...)}
}

func missing(id string) error {
	return refusal{kind: wire.ErrNotFound, text: "terminal '" + id + "' not found"}
}
