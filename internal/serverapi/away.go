package serverapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// A line that is cut takes the calls on it along, and is there again a moment
// later. What may be repeated is, so that neither a program nor its parent
// notices.

// patiently is whileAway for calls that are short: it ends also if the server
// takes each of them and answers none.
func (c *Client) patiently(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timing.away()+c.Timing.call())
	defer cancel()
	return c.whileAway(ctx, try)
}

// whileAway repeats a call that may be repeated while its answer gets lost, for
// as long as the server may be away.
func (c *Client) whileAway(ctx context.Context, try func() error) error {
	patience := c.Timing.away()
	shortest := orDefault(c.Timing.AwayPause, 500*time.Millisecond)
	wait, gone := shortest, time.Time{}
	for {
		began := time.Now()
		err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case !away(err):
			return err
		case gone.IsZero(), time.Since(began) > c.Timing.toolConnect():
			// The first miss; or the call was held, so the server was there.
			gone, wait = time.Now(), shortest
		}
		if time.Since(gone)+wait > patience || !pause(ctx, wait) {
			return fmt.Errorf("the server is away: %w", err)
		}
		wait = min(2*wait, 8*shortest)
	}
}

// away reports that the server may be back soon and know the operation.
func away(err error) bool {
	var refused *ToolError
	var status *StatusError
	switch {
	case errors.As(err, &refused):
		return refused.Code == detached
	case errors.As(err, &status):
		return status.Status == http.StatusBadGateway || status.Status == http.StatusServiceUnavailable || status.Status == http.StatusGatewayTimeout
	}
	return errors.As(err, new(lost))
}
