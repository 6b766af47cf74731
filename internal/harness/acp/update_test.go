package acp

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// Whatever an agent tells, what is passed on is valid, and each card is opened
// before it is closed, once.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\u0000b"}}`,
		`{"sessionUpdate":"tool_call","toolCallId":"a","title":"b","rawInput":{"x":"\ud800"}}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","content":[{"type":"diff","path":"p"}]}`,
		`{"sessionUpdate":"usage_update","used":1e300,"cost":{"amount":1,"currency":"USD"}}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"model","options":[[]]}]}`, "{", "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, update []byte) {
		r := NewPool().Prepare(Options{}, turn.Config{Log: slog.New(slog.DiscardHandler)}, wire.TurnStart{})
		var seen []string
		r.emit = func(e wire.HarnessEvent) error {
			require.True(t, utf8.ValidString(e.Delta))
			require.NotContains(t, e.Delta, "\x00")
			if e.Type != wire.ItemDone {
				return nil
			}
			var item struct {
				Type, Status, Name, Arguments, Output string
				CallID                                string `json:"call_id"`
			}
			require.NoError(t, json.Unmarshal(e.Item, &item))
			require.NotEmpty(t, item.CallID)
			if item.Type == "function_call" {
				require.NotEmpty(t, item.Name)
				require.True(t, json.Valid([]byte(item.Arguments)))
			}
			seen = append(seen, item.Type+" "+item.Status)
			return nil
		}
		r.prompting = true
		params := []byte(`{"sessionId":"","update":` + string(keep.Visible(update)) + `}`)
		r.update(&peer{}, params)
		r.update(&peer{}, params)
		r.closeTools()
		require.Contains(t, []string{"", "function_call in_progress|function_call completed|function_call_output completed"}, strings.Join(seen, "|"))
	})
}
