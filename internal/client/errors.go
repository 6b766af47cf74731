package client

import (
	"errors"
	"fmt"
	"net/http"
)

// ErrUnreachable says that no server answered, or none for too long.
var ErrUnreachable = errors.New("the server cannot be reached")

// StatusError is a refusal by the server.
type StatusError struct {
	Status  int
	Code    string // "" when the server gave none
	Message string
}

// Error implements error.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answered %d", e.Status)
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Status == http.StatusUnauthorized {
		text += "; give its token with --server-token-file"
	}
	return text
}

// temporary reports that the same call may pass later.
func (e *StatusError) temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500
}

// mayPass reports whether a failed call is worth repeating.
func mayPass(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.temporary()
	}
	return errors.Is(err, ErrUnreachable)
}
