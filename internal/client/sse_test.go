package client

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestEventsAreRead(t *testing.T) {
	text := ": a comment\nevent: session.heartbeat\ndata: {\"type\":\"session.heartbeat\"}\n\n" +
		"event: x\r\nid: 5\r\ndata:{\"a\":\r\ndata: 1}\r\n\r\n" +
		"retry: 10\n\n" +
		"data: {\"type\":\"typed\"}\n\n" +
		"data: [DONE]\n\n"
	for name, source := range map[string]io.Reader{"at once": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text))} {
		r := newReader(source)
		for _, want := range []Event{
			{Type: "session.heartbeat", Data: json.RawMessage(`{"type":"session.heartbeat"}`)},
			{Type: "x", ID: "5", Data: json.RawMessage("{\"a\":\n1}")},
			{Type: "typed", Data: json.RawMessage(`{"type":"typed"}`)},
		} {
			got, err := r.next()
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
		}
		_, err := r.next()
		require.ErrorIs(t, err, errDone)
	}
}

func TestAnEventThatIsCutIsNoEvent(t *testing.T) {
	for _, text := range []string{"", "data: {}", "data: {}\n", "event: x\ndata: {\"a\":"} {
		_, err := newReader(strings.NewReader(text)).next()
		require.ErrorIs(t, err, io.EOF, text)
	}
	_, err := newReader(strings.NewReader("event: x\ndata: {\n\n")).next()
	require.ErrorContains(t, err, `type "x" is not JSON`)
}

func TestALongEventIsReadAndAnEndlessOneIsNot(t *testing.T) {
	long := `{"delta":"` + strings.Repeat("x", 1<<20) + `"}`
	ev, err := newReader(strings.NewReader("data: " + long + "\n\n")).next()
	require.NoError(t, err)
	require.Equal(t, long, string(ev.Data))
	_, err = newReader(io.MultiReader(strings.NewReader("data: "), endless{})).next()
	require.ErrorContains(t, err, "larger than")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
