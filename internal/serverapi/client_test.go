package serverapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// serve starts a server and a client of it.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	base, err := url.Parse(server.URL + "/base")
	require.NoError(t, err)
	c := &Client{BaseURL: base}
	t.Cleanup(func() {
		c.Close()
		server.Close()
	})
	return c
}

// answer always answers the same.
func answer(status int, contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

const asJSON = "application/json"

func TestCallsAreExact(t *testing.T) {
	var got *http.Request
	var body string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		answer(200, asJSON, `{"data":[],"item_id":"i"}`)(w, r)
	})
	c.Header = func(context.Context) (http.Header, error) {
		return http.Header{"X-Omnigent-Runner-Tunnel-Token": {"t"}}, nil
	}
	_, err := c.Snapshot(t.Context(), "s/1")
	require.NoError(t, err)
	require.Equal(t, "GET /base/v1/sessions/s%2F1?include_items=false&include_liveness=false&include_usage=false&include_live_status=false", got.Method+" "+got.RequestURI)
	require.Equal(t, "omnigent://internal", got.Header.Get("Origin"))
	require.Equal(t, "t", got.Header.Get("X-Omnigent-Runner-Tunnel-Token"))

	_, err = c.Items(t.Context(), "s", "", 100)
	require.NoError(t, err)
	require.Equal(t, "/base/v1/sessions/s/items?limit=100&order=asc", got.RequestURI)
	_, err = c.Items(t.Context(), "s", "a&b", 5)
	require.NoError(t, err)
	require.Equal(t, "/base/v1/sessions/s/items?limit=5&order=asc&after=a%26b", got.RequestURI)

	_, err = c.Store(t.Context(), "s", wire.Outgoing{SourceID: "t:1", MessageID: "t:1", ResponseID: "r", ItemType: "message", ItemData: []byte(`{"role":"assistant"}`)})
	require.NoError(t, err)
	require.Equal(t, "POST /base/v1/sessions/s/events", got.Method+" "+got.RequestURI)
	require.Equal(t, asJSON, got.Header.Get("Content-Type"))
	require.JSONEq(t, `{"type":"external_conversation_item","data":{"source_id":"t:1","message_id":"t:1","response_id":"r","item_type":"message","item_data":{"role":"assistant"}}}`, body)
}

func TestSnapshotReadsBothServers(t *testing.T) {
	c := serve(t, answer(200, asJSON, `{"id":"s","agent_id":"a","agent_name":"n","sub_agent_name":null,"parent_session_id":"p","runner_id":"r",
		"status":"failed","last_task_error":{"code":"runner_disconnected","message":"m"},"archived":true,"workspace":"/w","labels":{"k":"v","n":5},
		"model_override":"m","reasoning_effort":"high","created_at":1700000000.5,"items":[],"unknown":{},
		"pending_inputs":[{"pending_id":"x","content":[]},{"pending_id":"y","item_id":"i1","content":[]},{"item_id":"i2"}]}`))
	got, err := c.Snapshot(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, "v", got.Labels["k"])
	got.Labels = nil
	require.Equal(t, wire.Snapshot{
		ID: "s", AgentID: "a", AgentName: "n", ParentID: "p", RunnerID: "r", Status: "failed", LastErrorCode: "runner_disconnected",
		Archived: true, Workspace: "/w", ModelOverride: "m", ReasoningEffort: "high", CreatedAt: 1700000000, Pending: []string{"i1", "i2"},
	}, got)
}

// What is no name is none (subagents-catchup.md S14).
func TestASnapshotWithoutAName(t *testing.T) {
	for _, name := range []string{"null", `""`, "3"} {
		c := serve(t, answer(200, asJSON, `{"sub_agent_name":`+name+`,"id":"s","agent_id":"a"}`))
		got, err := c.Snapshot(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, wire.Snapshot{ID: "s", AgentID: "a"}, got, name)
	}
}

func TestAnEmptyObjectIsASettledSnapshot(t *testing.T) {
	c := serve(t, answer(200, asJSON, `{}`))
	got, err := c.Snapshot(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, wire.Snapshot{ID: "s"}, got)
}

// What an answer means, over every call that returns an object.
func TestAnswersAreSettledOrNot(t *testing.T) {
	page := "<!doctype html><title>Sign in</title>"
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		settled error // nil = nothing to decide on
		want    string
	}{
		{"not found", answer(404, asJSON, `{"error":{"code":"not_found","message":"Not found."}}`), wire.ErrNotFound, "Not found."},
		{"not found, bare", answer(404, "", ""), wire.ErrNotFound, "404"},
		{"not found, by a proxy", answer(404, "text/html; charset=utf-8", page), nil, "HTML: is this an outrunner server?"},
		{"stale cursor", answer(400, asJSON, `{"error":{"code":"stale_cursor","message":"gone"}}`), wire.ErrStaleCursor, "gone"},
		{"bad request", answer(400, asJSON, `{"detail":"no"}`), wire.ErrRejected, ": no"},
		{"gone", answer(410, asJSON, `{"error":{"code":"session_agent_missing","message":"m"}}`), wire.ErrRejected, "410"},
		{"validation", answer(422, asJSON, `{"detail":[{"loc":["x"],"msg":"bad"}]}`), wire.ErrRejected, `[{"loc":["x"],"msg":"bad"}]`},
		{"too large, by a proxy", answer(413, "text/html", page), wire.ErrRejected, "413"},
		{"runner's shape", answer(409, asJSON, `{"error":"busy","detail":"x"}`), wire.ErrRejected, ": busy"},
		{"unauthorized", answer(401, asJSON, `{}`), wire.ErrDenied, "401"},
		{"forbidden", answer(403, asJSON, `{}`), wire.ErrDenied, "403"},
		{"timeout", answer(408, asJSON, `{}`), nil, "408"},
		{"early", answer(425, asJSON, `{}`), nil, "425"},
		{"slow down", answer(429, asJSON, `{}`), nil, "429"},
		{"broken", answer(500, "text/plain", "trouble\nhere"), nil, ": trouble here"},
		{"offline", answer(503, asJSON, `{"error":{"code":"runner_unavailable","message":"x"}}`), nil, "503"},
		{"bad gateway", answer(502, "text/html", page), nil, "HTML"},
		{"page", answer(200, "text/html", page), nil, "HTML: is this an outrunner server?"},
		{"page that lies", answer(200, asJSON, page), nil, "HTML"},
		{"array", answer(200, asJSON, `[]`), nil, "not JSON"},
		{"nothing", answer(200, asJSON, ``), nil, "not JSON"},
		{"half", answer(200, asJSON, `{"id":"s","data":[]`), nil, "unexpected end"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://user:hunter2@login.example.org/oidc/?token=hunter2", http.StatusFound)
		}, nil, "a redirect to https://login.example.org/oidc/;"},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"id":`)
		}, nil, "reading the answer"},
	} {
		client := serve(t, c.handler)
		client.Timing = Timing{DeletePause: time.Millisecond, Away: time.Millisecond}
		for name, do := range map[string]func() error{
			"snapshot": func() error { _, err := client.Snapshot(t.Context(), "s"); return err },
			"items":    func() error { _, err := client.Items(t.Context(), "s", "", 100); return err },
			"store": func() error {
				_, err := client.Store(t.Context(), "s", wire.Outgoing{ItemData: []byte("{}")})
				return err
			},
			"message":     func() error { return client.Message(t.Context(), "s", "x") },
			"labels":      func() error { return client.PatchLabels(t.Context(), "s", nil) },
			"create":      func() error { _, err := client.CreateChild(t.Context(), wire.NewChild{Title: "a:b"}); return err },
			"delete":      func() error { return client.DeleteSession(t.Context(), "s") },
			"find":        func() error { _, _, err := client.FindChild(t.Context(), "s", "a", "b"); return err },
			"find by id":  func() error { _, _, err := client.FindChild(t.Context(), "p", "", "s"); return err },
			"children":    func() error { _, err := client.Children(t.Context(), "s"); return err },
			"latest text": func() error { _, _, err := client.LatestText(t.Context(), "s", ""); return err },
			"evaluate":    func() error { _, err := client.Evaluate(t.Context(), "s", []byte("{}")); return err },
			"tool":        func() error { _, err := client.CallTool(t.Context(), "s", wire.ToolCall{}); return err },
		} {
			err := do()
			if errors.Is(c.settled, wire.ErrNotFound) && (name == "delete" || name == "find by id") {
				require.NoError(t, err, "%s, %s: that is an answer", c.name, name)
				continue
			}
			want := c.settled
			if c.name == "runner's shape" && (name == "message" || name == "create") {
				want = wire.ErrConflict
			}
			require.ErrorContains(t, err, c.want, "%s, %s", c.name, name)
			require.NotContains(t, err.Error(), "hunter2")
			for _, meaning := range []error{wire.ErrNotFound, wire.ErrRejected, wire.ErrStaleCursor, wire.ErrConflict, wire.ErrDenied} {
				require.Equal(t, errors.Is(want, meaning), errors.Is(err, meaning), "%s, %s: %v", c.name, name, meaning)
			}
		}
	}
}

func TestAnAnswerAboutAnotherSession(t *testing.T) {
	c := serve(t, answer(200, asJSON, `{"id":"other"}`))
	_, err := c.Snapshot(t.Context(), "s")
	require.ErrorContains(t, err, "answered with session other")
}

func TestItemsReadsAPage(t *testing.T) {
	c := serve(t, answer(200, asJSON, `{"object":"list","data":[
		{"id":"a","type":"message","role":"user","content":[{"type":"input_text","text":"x"}],"status":"completed","response_id":"t","created_at":5},
		{"id":"b","type":"function_call_output","output":{"not":"a string"},"call_id":"c"}],"has_more":true}`))
	page, err := c.Items(t.Context(), "s", "", 100)
	require.NoError(t, err)
	require.True(t, page.HasMore)
	require.Equal(t, "b", page.LastID)
	require.Len(t, page.Items, 2)
	require.JSONEq(t, `[{"type":"input_text","text":"x"}]`, string(page.Items[0].Content))
	require.Equal(t, "c", page.Items[1].CallID, "one odd field spoils nothing else")
}

func TestAWrongListingIsNeverAnEmptySession(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                  "no list of items",
		`{"data":null}`:       "no list of items",
		`{"data":{"id":"x"}}`: "no list of items",
		`{"data":["x"]}`:      "an item without an id",
		`{"data":[{}]}`:       "an item without an id",
	} {
		c := serve(t, answer(200, asJSON, text))
		_, err := c.Items(t.Context(), "s", "", 100)
		require.ErrorContains(t, err, want, text)
	}
	c := serve(t, answer(200, asJSON, `{"data":[]}`))
	page, err := c.Items(t.Context(), "s", "", 100)
	require.NoError(t, err)
	require.Empty(t, page.Items)
}

func TestStoreReturnsTheServersID(t *testing.T) {
	c := serve(t, answer(202, asJSON, `{"queued":false,"item_id":"i"}`))
	id, err := c.Store(t.Context(), "s", wire.Outgoing{SourceID: "x", ItemData: []byte("{}")})
	require.NoError(t, err)
	require.Equal(t, "i", id)

	c = serve(t, answer(200, asJSON, `{}`))
	_, err = c.Store(t.Context(), "s", wire.Outgoing{SourceID: "x", ItemData: []byte("{}")})
	require.ErrorContains(t, err, "the answer names no item")
	for _, settled := range []error{wire.ErrRejected, wire.ErrNotFound} {
		require.NotErrorIs(t, err, settled, "another try may pass")
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"`+strings.Repeat("x", ackLimit)+`"}`)
	})
	_, err := c.Store(t.Context(), "s", wire.Outgoing{ItemData: []byte("{}")})
	require.ErrorContains(t, err, "larger than 1048576 bytes")
}

func TestNewCredentialsAreTriedOnce(t *testing.T) {
	var seen []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		status := 401
		if r.Header.Get("Authorization") == "Bearer 2" {
			status = 200
		}
		answer(status, asJSON, `{}`)(w, r)
	})
	issue := []string{"Bearer 1", "Bearer 2"}
	c.Header = func(context.Context) (http.Header, error) {
		next := issue[0]
		issue = issue[1:]
		return http.Header{"Authorization": {next}}, nil
	}
	_, err := c.Snapshot(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, []string{"Bearer 1", "Bearer 2"}, seen)

	seen, issue = nil, []string{"Bearer 3", "Bearer 3"}
	_, err = c.Snapshot(t.Context(), "s")
	require.ErrorContains(t, err, "401")
	require.Equal(t, []string{"Bearer 3"}, seen, "the same again is not sent again")

	c.Header = func(context.Context) (http.Header, error) { return nil, errors.New("vault is sealed") }
	_, err = c.Snapshot(t.Context(), "s")
	require.ErrorContains(t, err, "vault is sealed")
}

func TestAgentContents(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/base/v1/sessions/s/agent/contents", r.RequestURI)
		answer(200, "application/gzip", "\x1f\x8bzip")(w, r)
	})
	bundle, err := c.AgentContents(t.Context(), "s")
	require.NoError(t, err)
	text, err := io.ReadAll(bundle)
	require.NoError(t, err)
	require.NoError(t, bundle.Close())
	require.Equal(t, "\x1f\x8bzip", string(text))

	for _, w := range []struct {
		handler http.HandlerFunc
		settled error
		want    string
	}{
		{answer(404, asJSON, `{"error":{"code":"not_found"}}`), wire.ErrNotFound, "404"},
		{answer(410, asJSON, `{"error":{"code":"session_agent_missing","message":"removed"}}`), wire.ErrRejected, "removed"},
		{answer(500, asJSON, `{}`), nil, "500"},
		{answer(200, "text/html", "<p>"), nil, "HTML"},
		{answer(200, asJSON, "{}"), nil, "JSON, which is no agent"},
		{answer(204, "", ""), nil, "not JSON"},
	} {
		c := serve(t, w.handler)
		_, err := c.AgentContents(t.Context(), "s")
		require.ErrorContains(t, err, w.want)
		if w.settled != nil {
			require.ErrorIs(t, err, w.settled)
		} else {
			require.NotErrorIs(t, err, wire.ErrRejected)
			require.NotErrorIs(t, err, wire.ErrNotFound)
		}
	}
}
