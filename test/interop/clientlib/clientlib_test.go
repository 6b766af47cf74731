//go:build interop

package clientlib

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
	"github.com/outrunner/outrunner/test/testkit"
)

// callsLimit is how long all calls may take.
const callsLimit = 5 * time.Minute

// The published client library makes each of its calls on our server and, the
// same script, on its own; then the two servers' answers are compared.
func TestClientLibrary(t *testing.T) {
	// The programs may live in a root of their own, which has the temporary files.
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(".")))
	answers := map[peer.Kind]string{}
	for _, kind := range []peer.Kind{peer.Theirs, peer.Ours} {
		answers[kind] = filepath.Join(dir, string(kind)+"-answers.json")
		pairing := peer.TheirClientOurServer
		if kind == peer.Theirs {
			pairing = peer.OurRunnerTheirServer
		}
		peer.Alone(t, pairing, "every call of the client library", func(t *testing.T, n *peer.Notes) {
			n.Say(fmt.Sprintf("%d calls", calls(t, kind, dir, answers[kind])))
		})
	}
	peer.Alone(t, peer.TheirClientOurServer, "the answers of both servers, key by key", func(t *testing.T, n *peer.Notes) {
		found := filepath.Join(dir, "differences.json")
		compare := exec.Command(peer.Python(t), "compare.py", answers[peer.Ours], answers[peer.Theirs], found)
		compare.Dir = dir
		out, err := compare.CombinedOutput()
		n.Say("differences in " + keep(t, found))
		require.NoError(t, err, "%s", out)
	})
}

// keep copies a file to where somebody can read it after the run, and says where.
func keep(t *testing.T, path string) string {
	t.Helper()
	const folder = ".cache/interop"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	top := filepath.Join("..", "..", "..", folder)
	require.NoError(t, os.MkdirAll(top, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(top, filepath.Base(path)), text, 0o600))
	return folder + "/" + filepath.Base(path)
}

// calls plays the script on a fresh server of that kind with a runner of ours,
// and returns how many calls it made.
func calls(t *testing.T, kind peer.Kind, dir, answers string) (made int) {
	t.Helper()
	s := peer.NewServer(t, kind, filepath.Join(dir, "shell"))
	r := s.NewRunner("")
	r.Start()
	s.WaitRunner(r.ID)
	script := testkit.RunProgram(t, peer.Python(t), "calls.py", testkit.Options{Dir: dir}, "calls.py", s.URL, answers)
	code := script.Wait(callsLimit)
	lines := bufio.NewScanner(strings.NewReader(script.Stdout.String()))
	for lines.Scan() {
		var call struct {
			Name  string `json:"call"`
			OK    bool   `json:"ok"`
			Error string `json:"error"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &call), lines.Text())
		if !call.OK {
			t.Errorf("%s: %s", call.Name, call.Error)
		}
		made++
	}
	require.Zero(t, code, "the script: %s", script.Stderr)
	require.Greater(t, made, 50, "it has called something")
	return made
}
