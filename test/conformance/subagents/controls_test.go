//go:build unix

package subagents

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What these tests see of a child is worth something only if they would see its
// parent: by a server that does not tell the name, the same requests start the
// parent's program.
func TestWithoutANameTheParentsProgramIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stdio").family("")
	w.start()
	code, text := w.Do("GET", "/v1/sessions/"+sessionC+"/resources", nil)
	require.Equal(t, 200, code, text)
	_, body := w.Message(sessionC, "task")
	code, text = w.Do("POST", "/v1/sessions/"+sessionC+"/events?stream=true", body)
	require.Equal(t, 200, code, text)
	w.Watch(sessionC)
	require.Equal(t, "completed", w.Ended(sessionC, w.Send(sessionC, "task")))
	require.Equal(t, []string{parent}, w.asked(sessionC))
}
