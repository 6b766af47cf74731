package tunnel

import (
	"fmt"
	"time"
)

// attempts is what Run remembers from one connection to the next.
type attempts struct {
	gen         uint64
	refusals    int       // in a row
	connected   bool      // ever
	outageSince time.Time // when it was last well
}

// maxRefusals is how many refusals in a row a runner that never connected takes.
const maxRefusals = 3

// fatal decides whether to give up.
func (a *attempts) fatal(class retryClass, r Reason) error {
	switch {
	case class == retryFatal:
		return fatalError(r)
	case class != retryRefused:
		a.refusals = 0
		return nil
	}
	a.refusals++
	if a.connected || a.refusals < maxRefusals {
		return nil
	}
	return fatalError(r)
}

// fatalError words the end as a launcher expects it (tunnel.md 10).
func fatalError(r Reason) *FatalError {
	const rejected = "runner tunnel rejected by server "
	const login = "; log in to the server again to re-authenticate"
	switch {
	case r.Cause == CauseClosed:
		e := &FatalError{CloseCode: r.Code}
		e.Text = fmt.Sprintf(rejected+"(close code %d); check frame protocol compatibility", r.Code)
		if r.Text != "" {
			e.Text += ": " + r.Text
		}
		return e
	case r.Cause == CauseForeign:
		return &FatalError{HTTPStatus: r.Code, Text: r.Text + "; check the server URL"}
	case r.Code < 400:
		return &FatalError{
			HTTPStatus: r.Code, Location: r.Text, Credential: true,
			Text: fmt.Sprintf(rejected+"(redirect to non-WebSocket URL %s persisted across %d attempts)"+login, r.Text, maxRefusals),
		}
	}
	return &FatalError{
		HTTPStatus: r.Code, Credential: true,
		Text: fmt.Sprintf(rejected+"(HTTP %d persisted across %d attempts)"+login, r.Code, maxRefusals),
	}
}
