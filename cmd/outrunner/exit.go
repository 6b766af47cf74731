package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/outrunner/outrunner/internal/client"
	"github.com/outrunner/outrunner/tunnel"
)

// The exit codes.
const (
	exitDone        = 0   // done, or asked to stop
	exitFailure     = 1   // something failed; of send: the turn did
	exitUsage       = 2   // the command line or the configuration is wrong
	exitUnreachable = 3   // no server answers
	exitCredentials = 77  // run: the server refused this runner before it ever connected
	exitInterrupted = 130 // send: the user left
)

// coded is an error with the code that the process ends with. An empty text
// has been told already.
type coded struct {
	code int
	err  error
}

// Error implements error.
func (e *coded) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap implements the errors protocol.
func (e *coded) Unwrap() error { return e.err }

// usage marks an error of the command line or the configuration.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &coded{exitUsage, err}
}

// code is the one place that maps errors to exit codes.
func code(err error) int {
	var marked *coded
	var fatal *tunnel.FatalError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &marked):
		return marked.code
	case errors.As(err, &fatal) && fatal.Credential:
		return exitCredentials
	case errors.Is(err, client.ErrUnreachable):
		return exitUnreachable
	}
	return exitFailure
}

// advised adds what to do when no server answers, unless the command has said
// it better.
func advised(err error) error {
	var marked *coded
	if errors.Is(err, client.ErrUnreachable) && !errors.As(err, &marked) {
		return fmt.Errorf("%w; start one with outrunner up, or name another with --server", err)
	}
	return err
}

// explain is an error in one line, without secrets, "" for none.
func (a *app) explain(err error) string {
	if err == nil {
		return ""
	}
	line := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return string(a.secrets.Redact([]byte(line)))
}
