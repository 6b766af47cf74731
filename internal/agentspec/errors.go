package agentspec

import (
	"fmt"

	"github.com/outrunner/outrunner/runner/wire"
)

// contentError is a fault of a bundle's author: only the sentence is shown,
// and it is a wire.ErrRejected.
type contentError struct{ sentence error }

func rejected(format string, args ...any) error {
	return contentError{fmt.Errorf(format, args...)}
}

// Error implements error.
func (e contentError) Error() string { return e.sentence.Error() }

// Unwrap gives both what to decide on and what lies below.
func (e contentError) Unwrap() []error { return []error{wire.ErrRejected, e.sentence} }
