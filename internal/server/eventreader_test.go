package server

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestEventReader(t *testing.T) {
	long := strings.Repeat("y", 200_000)
	text := ": comment\nevent: x\nid: 7\ndata: one\n\n\n\r\ndata:two\r\n\r\nretry: 5\n\ndata: a\ndata: b\n\ndata:  spaced\n\ndata:\n\ndata: " + long + "\n\ndata: cut off"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
		events := newEventReader(r)
		for _, want := range []string{"one", "two", "a\nb", " spaced", "", long} {
			got, err := events.next()
			require.NoError(t, err, name)
			require.Equal(t, want, string(got), name)
		}
		_, err := events.next()
		require.Equal(t, io.EOF, err, name)
	}
	endless := newEventReader(io.MultiReader(strings.NewReader("data: "), zeros{}))
	_, err := endless.next()
	require.ErrorIs(t, err, errEventTooLong)
	broken := newEventReader(io.MultiReader(strings.NewReader("data: x\n"), iotest.ErrReader(io.ErrClosedPipe)))
	_, err = broken.next()
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Unfinished text is bounded per message and per session.
func TestDraftsAreBounded(t *testing.T) {
	var d drafts
	add := func(id string, index int64, text string) { d.add(delta{MessageID: &id, Index: &index, Delta: text}) }
	add("a", 0, strings.Repeat("x", maxDraft))
	require.Len(t, d.frames(), 1)
	add("a", 1, "y")
	require.Empty(t, d.frames(), "a longer text is not offered")
	add("a", 0, "again")
	require.Len(t, d.frames(), 1, "until it starts again")
	for n := range 2 * maxDrafts {
		add(strings.Repeat("m", n+1), 0, "x")
	}
	require.Len(t, d.list, maxDrafts)
	d.settle(typeItemDone, []byte(`{"item":{"type":"message","stream_message_id":"`+strings.Repeat("m", 2*maxDrafts)+`"}}`))
	require.Len(t, d.list, maxDrafts-1)
	d.settle(typeItemDone, []byte(`{"item":{"type":"function_call"}}`))
	d.settle(typeItemDone, []byte(`{`))
	require.Len(t, d.list, maxDrafts-1)
	d.settle(typeCancelled, nil)
	require.True(t, d.empty())
}
