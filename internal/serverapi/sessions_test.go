package serverapi

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestPatchLabels(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(200, asJSON, `{"id":"s","labels":{}}`))
	require.NoError(t, c.PatchLabels(t.Context(), "s", map[string]string{"omnigent.subagent.delivered_id": "w"}))
	got := rec.only(t)
	require.Equal(t, "PATCH /base/v1/sessions/s", got.line)
	require.JSONEq(t, `{"labels":{"omnigent.subagent.delivered_id":"w"}}`, got.body)
}

// What may be repeated is, while the server is away for a moment.
func TestShortCallsAreAskedForAgain(t *testing.T) {
	for name, do := range map[string]func(*Client) error{
		"labels":   func(c *Client) error { return c.PatchLabels(t.Context(), "s", nil) },
		"delete":   func(c *Client) error { return c.DeleteSession(t.Context(), "s") },
		"children": func(c *Client) error { _, err := c.Children(t.Context(), "s"); return err },
		"find":     func(c *Client) error { _, _, err := c.FindChild(t.Context(), "s", "a", "b"); return err },
		"look up": func(c *Client) error {
			_, err := c.LookUp(t.Context(), "s", "sys_session_get_history", []byte(`{"session_id":"x"}`))
			return err
		},
		"evaluate": func(c *Client) error { _, err := c.Evaluate(t.Context(), "s", []byte("{}")); return err },
	} {
		var rec recorder
		c := rec.serve(t, hangUp, answer(503, asJSON, `{}`), hangUp, answer(200, asJSON, `{"data":[],"result":"POLICY_ACTION_ALLOW"}`))
		c.Timing.AwayPause, c.Timing.DeletePause = time.Millisecond, time.Millisecond
		require.NoError(t, do(c), name)
		require.GreaterOrEqual(t, len(rec.requests()), 4, name)
	}
}

func TestDeleteSession(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(200, asJSON, `{"id":"s","object":"conversation.deleted","deleted":true}`))
	require.NoError(t, c.DeleteSession(t.Context(), "s"))
	got := rec.only(t)
	require.Equal(t, "DELETE /base/v1/sessions/s", got.line)
	require.Empty(t, got.body)
}

func TestADeletionIsSentAgainWhenNobodyKnows(t *testing.T) {
	done := answer(200, asJSON, `{}`)
	broken := answer(500, asJSON, `{}`)
	for _, c := range []struct {
		name    string
		answers []http.HandlerFunc
		tries   int
		err     string
	}{
		{"broken, then done", []http.HandlerFunc{broken, done}, 2, ""},
		{"lost, then gone", []http.HandlerFunc{hangUp, answer(404, asJSON, `{}`)}, 2, ""},
		{"a proxy's page, then done", []http.HandlerFunc{answer(502, "text/html", "<p>"), done}, 2, ""},
		{"broken for good", []http.HandlerFunc{broken}, 2, "500"},
		{"refused", []http.HandlerFunc{answer(403, asJSON, `{}`)}, 1, "403"},
	} {
		var rec recorder
		client := rec.serve(t, c.answers...)
		client.Timing.DeletePause = time.Millisecond
		err := client.DeleteSession(t.Context(), "s")
		if c.err == "" {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorContains(t, err, c.err, c.name)
		}
		require.Len(t, rec.requests(), c.tries, c.name)
	}
}

func TestADeletionDoesNotOutliveItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer(500, asJSON, `{}`)(w, r)
		cancel()
	})
	c.Timing.DeletePause = time.Hour
	require.Error(t, c.DeleteSession(ctx, "s"))
}

// The meanings that a wake's tries depend on (subagents-catchup.md 7).
func TestOnlyRefusalsOfAMessageAreSettled(t *testing.T) {
	for status, want := range map[int]error{
		400: wire.ErrRejected, 404: wire.ErrNotFound, 410: wire.ErrRejected, 422: wire.ErrRejected,
		408: nil, 409: nil, 425: nil, 429: nil, 500: nil, 502: nil, 503: nil,
	} {
		c := serve(t, answer(status, asJSON, `{}`))
		err := c.Message(t.Context(), "s", "x")
		require.Error(t, err)
		for _, settled := range []error{wire.ErrRejected, wire.ErrNotFound} {
			require.Equal(t, errors.Is(want, settled), errors.Is(err, settled), status)
		}
	}
}
