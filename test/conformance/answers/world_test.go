//go:build unix

package answers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/test/testkit/fakeserver"
)

const (
	agent   = "a9e40000000000000000000000000001"
	session = "5e550000000000000000000000000001"
)

// badGateway is what a proxy says of a server that is not there.
func badGateway(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write([]byte("<html><body>502 Bad Gateway</body></html>")) // the runner may have gone
}

// world is a runner that is connected to the fake, and a session.
type world struct {
	*fakeserver.Server
	t      *testing.T
	runner *testkit.Runner
}

func newWorld(t *testing.T) world {
	t.Helper()
	s := fakeserver.New(t)
	s.AddAgent(agent, "plain", map[string]string{"config.yaml": "name: plain\nprompt: none\nexecutor: {harness: \"acp:shell\"}\n"})
	s.AddSession(fakeserver.Session{ID: session, AgentID: agent})
	w := world{s, t, testkit.NewRunner(t, s.URL)}
	w.runner.Start()
	w.Connected(1)
	w.Watch(session)
	return w
}

// complaints are the warnings and errors that the runner has logged, but for
// those about its line.
func (w world) complaints() []string {
	var out []string
	for _, line := range testkit.Lines(w.runner.Process.Stderr.String()) {
		bad := strings.Contains(line, " WRN ") || strings.Contains(line, " ERR ")
		if bad && !strings.Contains(line, "tunnel is down") {
			out = append(out, line)
		}
	}
	return out
}

// called waits until a call was made so often.
func (w world) called(method, path string, times int) {
	w.t.Helper()
	w.Until(func() bool {
		n := 0
		for _, call := range w.Calls() {
			if call.Method == method && call.Path == path {
				n++
			}
		}
		return n >= times
	}, method+" "+path+" is not made so often")
}

// requireWell requires that the runner still runs and answers.
func (w world) requireWell() {
	w.t.Helper()
	require.False(w.t, w.runner.Process.Ended(), "the runner has ended")
	require.Equal(w.t, "completed", w.Ended(session, w.Send(session, "echo alive")))
}
