package stdio

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/runner/wire"
)

// FuzzHear holds every line to what the runner relies on: text is UTF-8 and
// without NUL, an item is an object whose texts are texts.
func FuzzHear(f *testing.F) {
	for _, seed := range []string{
		`{"type":"response.output_text.delta","delta":"a\u0000` + "\xff" + `"}`,
		`{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","name":"f","call_id":"c","arguments":{"a":[1]}}}`,
		`{"type":"response.output_item.done","item":{"type":"function_call_output","call_id":"c","output":null}}`,
		`{"type":"response.failed","error":{"code":7,"message":"m"}}`,
		`{"type":"response.failed","response":"x","error":["y"]}`,
		`{"type":"response.output_item.done","item":{"type":"function_call","status":3,"name":"f","call_id":"c","Arguments":{}}}`,
		"", "garbage", "[]", "{", `{"type":null}`, "\ufeff{}", `{"type":"response.output_text.delta"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := string(text)
		h, err := hear(text)
		require.Equal(t, before, string(text), "a line is not changed")
		for _, s := range []string{h.event.Delta, h.fault.code, h.fault.message, h.fault.remediation, keep.Excerpt(text)} {
			require.True(t, utf8.ValidString(s))
			require.NotContains(t, s, "\x00")
		}
		if err != nil {
			require.Equal(t, heard{}, h)
			return
		}
		if h.event.Type != wire.ItemDone {
			require.Empty(t, h.event.Item)
			return
		}
		var item struct {
			Type      string  `json:"type"`
			CallID    string  `json:"call_id"`
			Arguments *string `json:"arguments"`
			Output    *string `json:"output"`
			Status    string  `json:"status"`
			Name      string  `json:"name"`
		}
		require.NoError(t, json.Unmarshal(h.event.Item, &item))
		require.NotEmpty(t, item.CallID)
		if item.Type == "function_call" {
			require.NotEmpty(t, *item.Arguments)
			require.False(t, strings.Contains(*item.Arguments, "\x00"))
		} else {
			require.NotNil(t, item.Output)
		}
	})
}
