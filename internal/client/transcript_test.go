package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func index(n int64) *int64 { return &n }

func stored(id, message, text string) *Item {
	i := &Item{ID: id, Type: "message", Role: "assistant", StreamMessageID: message}
	i.Content = append(i.Content, struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"output_text", text})
	return i
}

func TestTranscript(t *testing.T) {
	for name, c := range map[string]struct {
		play func(*transcript)
		want string
	}{
		"deltas, then the item": {func(t *transcript) {
			t.delta("a", index(0), "one ", false)
			t.delta("a", index(1), "two", false)
			t.item(stored("1", "a", "one two"))
		}, "one two"},
		"the item, then late deltas": {func(t *transcript) {
			t.delta("a", index(0), "one ", false)
			t.item(stored("1", "a", "one two"))
			t.delta("a", index(1), "two", false)
			t.item(stored("1", "a", "one two"))
		}, "one two"},
		"a gap waits for the item": {func(t *transcript) {
			t.delta("a", index(0), "one ", false)
			t.delta("a", index(2), "three ", false)
			t.delta("a", index(3), "four", false)
			t.item(stored("1", "a", "one two three four"))
		}, "one two three four"},
		"what follows a gap waits too": {func(t *transcript) {
			t.delta("a", index(1), "two ", false)
			t.delta("b", index(0), "three ", false)
			t.item(stored("1", "a", "one two "))
			t.delta("b", index(1), "four ", false)
			t.item(stored("2", "b", "three four "))
			t.delta("c", index(0), "five", false)
		}, "one two three four five"},
		"seen deltas": {func(t *transcript) {
			t.delta("a", index(0), "one ", false)
			t.delta("a", index(0), "one ", false)
			t.delta("a", index(1), "two", false)
		}, "one two"},
		"a new stream tells all so far": {func(t *transcript) {
			t.delta("a", index(0), "one ", false)
			t.delta("a", index(2), "one two three ", true)
			t.delta("a", index(3), "four", false)
		}, "one two three four"},
		"a new stream, nothing shown before": {func(t *transcript) {
			t.delta("a", index(2), "three ", true)
			t.delta("a", index(3), "four", false)
			t.item(stored("1", "a", "one two three four"))
		}, "one two three four"},
		"a new stream goes on with the next piece": {func(t *transcript) {
			t.delta("a", index(0), "one ", false)
			t.delta("a", index(1), "two", true)
		}, "one two"},
		"a new stream after a piece was lost": {func(t *transcript) {
			t.delta("a", index(0), "one ", false)
			t.delta("a", index(2), "three", true)
			t.item(stored("1", "a", "one two three"))
		}, "one two three"},
		"what follows waits until all before it is stored": {func(t *transcript) {
			t.delta("a", index(0), "one ", false)
			t.delta("b", index(0), "two ", false)
			t.delta("b", index(1), "three", false)
			t.end()
		}, "one two three"},
		"a lost last piece keeps its place": {func(t *transcript) {
			t.delta("a", index(0), "one ", false)
			t.delta("b", index(0), "three", false)
			t.item(stored("1", "a", "one two "))
		}, "one two three"},
		"plain text": {func(t *transcript) {
			t.delta("", nil, "one ", false)
			t.delta("", nil, "two", false)
			t.item(stored("1", "", "one two"))
			t.delta("", nil, ", three", false)
			t.item(stored("2", "", ", three"))
		}, "one two, three"},
		"stored otherwise than shown": {func(t *transcript) {
			t.delta("a", index(0), "secret", false)
			t.item(stored("1", "a", "[removed]"))
		}, "secret\n[removed]"},
		"other items": {func(t *transcript) {
			t.item(&Item{ID: "1", Type: "function_call"})
			t.item(&Item{ID: "2", Type: "message", Role: "user", Content: stored("", "", "mine").Content})
		}, ""},
	} {
		var out strings.Builder
		c.play(newTranscript(func(s string) { out.WriteString(s) }))
		require.Equal(t, c.want, out.String(), name)
	}
}

// Whatever is lost or comes late on the way, the text is whole and in order
// once every item has come.
func TestTranscriptIsWholeWhateverIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var out, want strings.Builder
		tr := newTranscript(func(s string) { out.WriteString(s) })
		var late []func()
		for m := range rapid.IntRange(1, 5).Draw(r, "messages") {
			id, text := fmt.Sprintf("t:%d", m), ""
			pieces := rapid.IntRange(1, 6).Draw(r, "pieces")
			storedEarly := rapid.IntRange(1, pieces+1).Draw(r, "stored after")
			for p := range pieces {
				piece := fmt.Sprintf("<%d.%d>", m, p)
				text += piece
				switch rapid.SampledFrom([]string{"kept", "kept", "lost", "twice", "new stream"}).Draw(r, "fate") {
				case "kept":
					tr.delta(id, index(int64(p)), piece, false)
				case "twice":
					tr.delta(id, index(int64(p)), piece, false)
					tr.delta(id, index(int64(p)), piece, false)
				case "new stream":
					tr.delta(id, index(int64(p)), text, true)
				}
				if p+1 == storedEarly && pieces > p+1 {
					break // the item overtakes the last pieces
				}
			}
			for p := strings.Count(text, "<"); p < pieces; p++ {
				n, piece := p, fmt.Sprintf("<%d.%d>", m, p)
				text += piece
				late = append(late, func() { tr.delta(id, index(int64(n)), piece, false) })
			}
			want.WriteString(text)
			tr.item(stored(id, id, text))
			if rapid.Bool().Draw(r, "again") {
				tr.item(stored(id, id, text))
			}
			for _, l := range late {
				l()
			}
		}
		require.Equal(r, want.String(), out.String())
	})
}
