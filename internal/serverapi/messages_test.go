package serverapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

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

// A task arrives once, whatever is lost of it.
func TestATaskThatGetsLost(t *testing.T) {
	const (
		none = `{"data":[],"has_more":false}`
		old  = `{"data":[{"id":"i1","type":"message","role":"user","content":[{"type":"input_text","text":"do it"}]}],"has_more":false}`
		both = `{"data":[{"id":"i2","type":"message","role":"user","content":[{"type":"input_text","text":"do it"}]},` +
			`{"id":"i1","type":"message","role":"user","content":[{"type":"input_text","text":"do it"}]}],"has_more":false}`
	)
	page := func(text string) http.HandlerFunc { return answer(200, asJSON, text) }
	taken := answer(202, asJSON, `{"queued":true,"item_id":"i2"}`)
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		posts   int
	}{
		"taken":                  {[]http.HandlerFunc{page(none), taken}, 1},
		"lost on the way":        {[]http.HandlerFunc{page(none), hangUp, page(none), taken}, 2},
		"only the answer lost":   {[]http.HandlerFunc{page(none), hangUp, page(old)}, 1},
		"a second of that text":  {[]http.HandlerFunc{page(old), hangUp, page(old), taken}, 2},
		"that is there":          {[]http.HandlerFunc{page(old), hangUp, page(both)}, 1},
		"nobody can say":         {[]http.HandlerFunc{page(none), hangUp, hangUp, page(old)}, 1},
		"nobody was there ahead": {[]http.HandlerFunc{hangUp, page(none), taken}, 1},
	} {
		var rec recorder
		client := rec.serve(t, c.answers...)
		client.Timing.AwayPause = time.Millisecond
		require.NoError(t, client.Task(t.Context(), "s", "do it"), name)
		require.Len(t, rec.requests(), len(c.answers), name)
		ids := map[string]bool{}
		posts := 0
		for _, r := range rec.requests() {
			if strings.HasPrefix(r.line, "POST ") {
				posts++
				var body struct {
					Data struct {
						Stable string `json:"stable_id"`
					}
				}
				require.NoError(t, json.Unmarshal([]byte(r.body), &body))
				ids[body.Data.Stable] = true
			}
		}
		require.Equal(t, c.posts, posts, name)
		require.Len(t, ids, 1, "%s: one stable id", name)
	}
	var rec recorder
	require.ErrorIs(t, rec.serve(t, page(none), answer(404, asJSON, `{}`)).Task(t.Context(), "s", "x"), wire.ErrNotFound)
	require.Len(t, rec.requests(), 2, "what is refused is not sent again")
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
