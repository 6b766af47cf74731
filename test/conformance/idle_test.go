//go:build unix

package conformance

import (
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// A runner that has had nothing to do says so on its way out: each stream ends
// with the done marker, and the close frame has the words by which a server
// tells this from a crash.
func TestIdleExit(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	r := testkit.NewRunner(t, u.URL)
	r.Configure("idle_exit: 1s\n")
	r.Start()
	l := u.next()
	l.kind("hello")
	s := l.open()
	l.get("POST", "/v1/sessions/"+session+"/events", u.message("u1", "echo hi"))
	s.end("u1")
	for {
		f := l.of(s.id)
		if f["kind"] == "response.end" {
			require.NotContains(t, f, "error", "a clean end")
			break
		}
		s.text += f["body"].(string)
	}
	require.Contains(t, s.text, "data: [DONE]\n\n")
	require.Equal(t, websocket.CloseError{Code: websocket.StatusNormalClosure, Reason: "runner idle shutdown"}, l.closed())
	require.Equal(t, 0, r.Process.Wait(endsWithin))
}
