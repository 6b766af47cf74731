//go:build linux

package chaos

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/test/testkit"
)

// A web page in the user's browser can send requests to this machine. None of
// them may do anything, or tell anything.
func TestAWebPageCanDoNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.NewSession("shell")
	const message = `{"type":"message","data":{"role":"user","content":[{"type":"input_text","text":"echo owned > owned"}]}}`
	json := header("Content-Type", "application/json")
	events := "/v1/sessions/" + session + "/events"
	for name, c := range map[string]struct {
		method, path, body string
		header             http.Header
		host               string
		status             int
	}{
		"a page of another origin posts":       {"POST", events, message, with(json, "Origin", "https://evil.example"), "", 403},
		"a page of another port posts":         {"POST", events, message, with(json, "Origin", "http://127.0.0.1:1"), "", 403},
		"a page without an origin posts":       {"POST", events, message, with(json, "Origin", "null"), "", 403},
		"a page of another origin reads":       {"GET", "/v1/sessions", "", header("Origin", "https://evil.example"), "", 403},
		"a page of another origin asks first":  {"OPTIONS", events, "", header("Origin", "https://evil.example"), "", 403},
		"a rebound name posts":                 {"POST", events, message, json, "evil.example:7171", 403},
		"a rebound name posts as its own page": {"POST", events, message, with(json, "Origin", "http://evil.example:7171"), "evil.example:7171", 403},
		"a rebound name reads":                 {"GET", "/v1/sessions/" + session + "/items", "", nil, "evil.example", 403},
		"a form posts":                         {"POST", events, message, header("Content-Type", "application/x-www-form-urlencoded"), "", 415},
		"a form posts text":                    {"POST", events, message, header("Content-Type", "text/plain"), "", 415},
		"a beacon without a type":              {"POST", events, message, nil, "", 415},
		"a form makes a session":               {"POST", "/v1/sessions", "agent_id=shell", header("Content-Type", "application/x-www-form-urlencoded"), "", 415},
		"a page opens a tunnel": {"GET", "/v1/runners/runner_token_0/tunnel", "", http.Header{"Origin": {"https://evil.example"},
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}}, "", 403},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequest(c.method, w.URL+c.path, strings.NewReader(c.body))
			require.NoError(t, err)
			req.Header, req.Host = c.header.Clone(), c.host
			if req.Header == nil {
				req.Header = http.Header{}
			}
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			res, err := client.Do(req)
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, c.status, res.StatusCode, "%s", text)
			require.Empty(t, res.Header.Get("Access-Control-Allow-Origin"))
			require.NotContains(t, string(text), session)
		})
	}
	items, err := w.Items(session)
	require.NoError(t, err)
	require.Empty(t, items)
	sessions, err := w.Sessions()
	require.NoError(t, err)
	require.Len(t, sessions, 1)

	end := w.Settled(turnLimit, session, w.Send(session, "echo mine > mine"))[0]
	require.Equal(t, "completed", end.Status, "the user can still do everything")
	require.FileExists(t, w.runner.Path("mine"))
	require.NoFileExists(t, w.runner.Path("owned"))
}

func header(name, value string) http.Header { return http.Header{name: {value}} }

func with(h http.Header, name, value string) http.Header {
	h = h.Clone()
	h[name] = []string{value}
	return h
}

// A runner's id belongs to who knows its secret.
func TestAnotherClaimToARunnersIDIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, err := config.RunnerID(w.runner.Secret())
	require.NoError(t, err)
	const notYours = websocket.StatusCode(4004)
	for name, secret := range map[string]string{"another secret": "stolen", "no secret": ""} {
		ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
		defer cancel()
		header := http.Header{"Origin": {"omnigent://internal"}}
		if secret != "" {
			header.Set("X-Omnigent-Runner-Tunnel-Token", secret)
		}
		conn, _, err := websocket.Dial(ctx, w.URL+"/v1/runners/"+id+"/tunnel", &websocket.DialOptions{HTTPHeader: header})
		require.NoError(t, err, name)
		_, said, err := conn.Read(ctx)
		require.Equal(t, notYours, websocket.CloseStatus(err), "%s: %s %v", name, said, err)
	}
	session := w.NewSession("shell")
	require.Equal(t, "completed", w.Settled(turnLimit, session, w.Send(session, "true"))[0].Status, "the first one is still there")

	// The same secret is the same runner: the newest connection takes over.
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(w.runner.Secret()), 0o600))
	w.runner.Kill()
	other := testkit.NewRunner(t, w.URL)
	other.Start("OUTRUNNER_TOKEN_FILE=" + secret)
	w.WaitOnline()
	rows, err := w.Runners()
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, id, rows[0].ID)
}
