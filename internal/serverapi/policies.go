package serverapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// Evaluate asks for a policy verdict (server.md 2.6); the event is the request's
// body. It is asked for again for as long as the server may be away. An answer
// without a verdict that is known is an error: what is not allowed by anyone must
// not pass for allowed.
func (c *Client) Evaluate(ctx context.Context, session string, event json.RawMessage) (verdict wire.Verdict, err error) {
	err = c.patiently(ctx, func() (err error) {
		verdict, err = c.verdict(ctx, session, call{body: event, timeout: c.Timing.call()})
		return err
	})
	if err != nil {
		return wire.Verdict{}, fmt.Errorf("asking for a verdict in session %s: %w", session, err)
	}
	return verdict, nil
}

// Judge asks for the verdict on what a program is about to do, or has done. A
// policy may have a human decide, so the answer may take a day; when it gets
// lost, it is asked for again for as long as the server may be away.
func (c *Client) Judge(ctx context.Context, session, phase string, data json.RawMessage) (wire.Verdict, error) {
	type event struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	ctx, cancel := context.WithTimeout(ctx, orDefault(c.Timing.Message, 24*time.Hour))
	defer cancel()
	var verdict wire.Verdict
	err := c.whileAway(ctx, func() (err error) {
		verdict, err = c.verdict(ctx, session, call{
			body:    map[string]event{"event": {phase, data}},
			connect: c.Timing.messageConnect(), timeout: orDefault(c.Timing.Message, 24*time.Hour),
		})
		return err
	})
	if err != nil {
		return wire.Verdict{}, fmt.Errorf("asking the policies about a %s in session %s: %w", phase, session, err)
	}
	return verdict, nil
}

// verdict is one question to the policies.
func (c *Client) verdict(ctx context.Context, session string, q call) (wire.Verdict, error) {
	q.method, q.path, q.limit = http.MethodPost, sessionPath(session, "/policies/evaluate"), policyLimit
	var verdict wire.Verdict
	err := c.object(ctx, q, &verdict)
	if err == nil {
		switch verdict.Action {
		case "POLICY_ACTION_ALLOW", "POLICY_ACTION_DENY", "POLICY_ACTION_ASK", "POLICY_ACTION_UNSPECIFIED":
			return verdict, nil
		}
		err = fmt.Errorf("the answer has no verdict, but %q", cut(verdict.Action))
	}
	return wire.Verdict{}, err
}
