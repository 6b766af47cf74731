package runner

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A reader hears how things stand before anything else. What was published
// between its arrival and that is not for it: an end told so would come before
// the older end that it follows, and the server would take that for lost.
func TestAReaderHearsNothingBeforeHowThingsStand(t *testing.T) {
	var all outlets
	r := all.attach("S")
	out := all.of("S")
	out.publish([]byte(`{"type":"early"}`), "")
	out.begin("turn")
	out.delta("turn", "response.output_text.delta", "turn:0", 0, "early")
	frames, end := r.take()
	require.Empty(t, frames)
	require.Equal(t, endNone, end)
	out.welcome(r.id + 1)
	out.publish([]byte(`{"type":"early"}`), "")
	frames, _ = r.take()
	require.Empty(t, frames, "another was welcome")
	out.welcome(r.id)
	out.publish([]byte(`{"type":"state"}`), "")
	frames, _ = r.take()
	require.Len(t, frames, 1)
	all.attach("S")
	_, end = r.take()
	require.Equal(t, endCut, end, "a newer one takes its place, deaf as it is")
}
