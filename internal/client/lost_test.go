package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A preview of a later piece comes live while earlier ones, which nobody saw,
// are still on their way to the store.
func TestTranscriptHoldsWhatComesBeforeItsTurn(t *testing.T) {
	text := ""
	tr := newTranscript(func(s string) { text += s })
	at := func(n int64) *int64 { return &n }
	stored := func(id, message, body string) *Item {
		i := &Item{ID: id, Type: "message", Role: "assistant", StreamMessageID: message}
		i.Content = append(i.Content, struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{"output_text", body})
		return i
	}
	tr.delta("turn_a:0", at(0), "1", false)
	tr.item(stored("i0", "turn_a:0", "1"))
	tr.delta("turn_a:3", at(0), "4", false)
	tr.item(stored("i1", "turn_a:1", "2"))
	tr.item(stored("i2", "turn_a:2", "3"))
	tr.delta("turn_a:3", at(1), "5", false)
	tr.item(stored("i3", "turn_a:3", "45"))
	require.Equal(t, "12345", text)
}
