package tunnel

import (
	"errors"
	"fmt"
)

// ErrIdle is the cause of a context's end by which a runner leaves because it has
// had nothing to do; its text is what the wire has for that (tunnel.md 3).
var ErrIdle = errors.New("runner idle shutdown")

// OfflineError is RoundTrip's and OpenChannel's answer when the runner has no
// tunnel at the moment of the call. Nothing was sent.
type OfflineError struct{ RunnerID string }

// Error names the runner.
func (e *OfflineError) Error() string { return fmt.Sprintf("runner %q is offline", e.RunnerID) }

// LostError tells that the tunnel ended, or was replaced by a newer one, before
// the exchange did. Whether the other side acted on it is not known, unless
// Unsent says that nothing had left.
type LostError struct {
	RunnerID string
	Reason   Reason
	Unsent   bool
}

// Error names the runner and why its tunnel ended.
func (e *LostError) Error() string {
	return fmt.Sprintf("tunnel of runner %q ended: %s", e.RunnerID, e.Reason)
}

// StreamError is an abnormal end of one answer, by the runner's own word
// (response.end.error) or because the runner's frames for it made no sense.
// The tunnel is well.
type StreamError struct{ Text string }

// Error has the runner's word.
func (e *StreamError) Error() string { return "runner stream error: " + e.Text }

// RefusedError tells that this end did not send a request, or gave up one
// answer, to keep within its Limits.
type RefusedError struct {
	Status int // the HTTP status that fits: 413 or 503
	Reason string
}

// Error has the reason.
func (e *RefusedError) Error() string { return "refused: " + e.Reason }

// CanceledError is the cause of a handler's context, and the error of its
// writes, once the server sent request.cancel.
type CanceledError struct{ Reason string }

// Error has the server's reason.
func (e *CanceledError) Error() string { return "request canceled: " + e.Reason }

// ChannelError is how a channel ended: the peer's close code and reason, or
// 1006 when the tunnel was lost.
type ChannelError struct {
	Code   int
	Reason string
}

// Error has code and reason.
func (e *ChannelError) Error() string {
	return fmt.Sprintf("channel closed (code %d) %s", e.Code, e.Reason)
}

// FatalError is Run's error: dialing again would not help.
type FatalError struct {
	CloseCode  int    // set when an accepted connection was closed with it
	HTTPStatus int    // set when the upgrade was answered with it
	Location   string // target of a redirect
	Credential bool   // the server refused the credentials: a launcher expects exit code 77 instead of 1
	Text       string // the sentence of tunnel.md 10
}

// Error has the sentence that a launcher looks for on stderr.
func (e *FatalError) Error() string { return e.Text }

// Refusal is what Server.Authorize returns to refuse a connection: with
// HTTPStatus before the upgrade, or with Code and Reason after it, as
// tunnel.md 3 has it. HTTPStatus wins if both are set.
type Refusal struct {
	HTTPStatus int
	Code       int
	Reason     string // at most 123 bytes; the body of the answer, or the close reason
}

// Error has the reason.
func (e *Refusal) Error() string { return e.Reason }

// errDead is what a queue answers once its link is dead; it never leaves the
// package, its callers know the Reason.
var errDead = errors.New("link is dead")

// errAborted is what a queue answers once its stream is aborted.
var errAborted = errors.New("stream is aborted")
