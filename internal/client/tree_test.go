package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTree(t *testing.T) {
	page := func(rows string) string { return `{"data":[` + rows + `],"has_more":false}` }
	answers := map[string]string{
		"/v1/sessions/root/child_sessions": page(`{"id":"a","title":"worker:one","current_task_status":"completed","labels":{"omnigent.subagent.dispatch_id":"w1"}},` +
			`{"id":"b","title":"worker:two","current_task_status":"failed","last_task_error":{"code":"x","message":"boom"}},` +
			`{"id":"d","current_task_status":"failed","labels":{"omnigent.subagent.dispatch_id":"w2"},"last_task_error":{"code":"x"}},` +
			`{"id":"e","current_task_status":"failed","labels":{"omnigent.subagent.dispatch_id":"w3"},"last_task_error":{"code":"runner_disconnected"}}`),
		"/v1/sessions/a/child_sessions": page(`{"id":"c","title":"deep:1","current_task_status":"in_progress","busy":true}`),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, ok := answers[r.URL.Path]
		if !ok {
			text = page("")
		}
		_, _ = fmt.Fprint(w, text) // the client reads it, or fails its test
	}))
	defer server.Close()
	base, err := url.Parse(server.URL)
	require.NoError(t, err)
	c := New(base, "")
	defer c.Close()
	tree, raws, err := c.Tree(t.Context(), "root")
	require.NoError(t, err)
	require.Len(t, raws, 5)
	require.Equal(t, []string{"a", "b", "d", "e"}, []string{tree[0].ID, tree[1].ID, tree[2].ID, tree[3].ID})
	require.True(t, tree[0].Unread())
	require.False(t, tree[1].Unread(), "nobody gave it a task")
	require.True(t, tree[2].Unread(), "a failure is a result")
	require.False(t, tree[3].Unread(), "it is waited for")
	require.Equal(t, "boom", tree[1].LastError.Message)
	require.Equal(t, "c", tree[0].Children[0].ID)
	require.False(t, tree[0].Children[0].Unread(), "it works still")

	answers["/v1/sessions/loop/child_sessions"] = page(`{"id":"loop"}`)
	tree, raws, err = c.Tree(t.Context(), "loop")
	require.NoError(t, err, "a server that turns in circles is left at some depth")
	require.Len(t, raws, treeDepth)
	for range treeDepth - 1 {
		tree = tree[0].Children
	}
	require.True(t, tree[0].Cut)
}
