package serverapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/outrunner/outrunner/runner/wire"
)

// Evaluate asks for a policy verdict (server.md 2.6); the event is the request's
// body. An answer without a verdict that is known is an error: what is not
// allowed by anyone must not pass for allowed.
func (c *Client) Evaluate(ctx context.Context, session string, event json.RawMessage) (wire.Verdict, error) {
	var verdict wire.Verdict
	err := c.object(ctx, call{
		method: http.MethodPost, path: sessionPath(session, "/policies/evaluate"), body: event,
		timeout: c.Timing.call(), limit: policyLimit,
	}, &verdict)
	if err == nil {
		switch verdict.Action {
		case "POLICY_ACTION_ALLOW", "POLICY_ACTION_DENY", "POLICY_ACTION_ASK", "POLICY_ACTION_UNSPECIFIED":
			return verdict, nil
		}
		err = fmt.Errorf("the answer has no verdict, but %q", cut(verdict.Action))
	}
	return wire.Verdict{}, fmt.Errorf("asking for a verdict in session %s: %w", session, err)
}
