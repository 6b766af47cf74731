package serverapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestMessage(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(202, asJSON, `{"queued":true,"item_id":"i"}`))
	require.NoError(t, c.Message(t.Context(), "s/1", "hi \"there\""))
	got := rec.only(t)
	require.Equal(t, "POST /base/v1/sessions/s%2F1/events", got.line)
	require.JSONEq(t, `{"type":"message","data":{"role":"user","content":[{"type":"input_text","text":"hi \"there\""}]}}`, got.body)
}

func TestAMessageIsNotSentTwice(t *testing.T) {
	var rec recorder
	c := rec.serve(t, hangUp)
	require.True(t, unsure(c.Message(t.Context(), "s", "x")))
	require.Len(t, rec.requests(), 1)
}

func TestAMessageThatPolicyDeniesWasNotSent(t *testing.T) {
	c := serve(t, answer(202, asJSON, `{"queued":false,"denied":true,"reason":"no secrets"}`))
	err := c.Message(t.Context(), "s", "x")
	require.ErrorIs(t, err, wire.ErrRejected)
	require.ErrorContains(t, err, "a policy denies it: no secrets")
}

func TestAMessageThatConflictsMayPassLater(t *testing.T) {
	c := serve(t, answer(409, asJSON, `{"error":{"code":"conflict","message":"closed"}}`))
	err := c.Message(t.Context(), "s", "x")
	require.ErrorIs(t, err, wire.ErrConflict)
	require.NotErrorIs(t, err, wire.ErrRejected)
}
