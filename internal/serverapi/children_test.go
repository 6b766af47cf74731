package serverapi

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

const row = `{"id":"c1","object":"child_session","parent_session_id":"p","title":"worker:one","tool":"worker","session_name":"one","kind":"sub_agent",
	"agent_name":null,"current_task_id":null,"current_task_status":"failed","status":"idle","busy":false,"labels":{"omnigent.subagent.dispatch_id":"w1"},
	"last_task_error":{"code":"runner_disconnected","message":"gone"},"last_message_preview":null}`

func summary() wire.ChildSummary {
	return wire.ChildSummary{
		ID: "c1", Title: "worker:one", Tool: "worker", SessionName: "one", Status: "failed",
		Labels: map[string]string{"omnigent.subagent.dispatch_id": "w1"}, ErrorCode: "runner_disconnected", ErrorMessage: "gone",
	}
}

func list(more bool, rows ...string) http.HandlerFunc {
	return answer(200, asJSON, fmt.Sprintf(`{"object":"list","data":[%s],"first_id":null,"last_id":null,"has_more":%v}`, strings.Join(rows, ","), more))
}

func TestCreateChild(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(201, asJSON, `{"id":"c1","agent_name":"worker","status":"idle"}`))
	made, err := c.CreateChild(t.Context(), wire.NewChild{
		AgentID: "a", ParentID: "p", Title: "worker:one", SubAgentName: "worker", Labels: map[string]string{"k": "v"}, ModelOverride: "m",
	})
	require.NoError(t, err)
	require.Equal(t, wire.Made{ID: "c1", AgentName: "worker"}, made)
	got := rec.only(t)
	require.Equal(t, "POST /base/v1/sessions", got.line)
	require.JSONEq(t, `{"agent_id":"a","parent_session_id":"p","title":"worker:one","sub_agent_name":"worker","labels":{"k":"v"},"model_override":"m"}`, got.body)
}

func TestATitleThatIsTaken(t *testing.T) {
	var rec recorder
	c := rec.serve(t, answer(409, asJSON, `{"error":{"code":"already_exists","message":"taken"}}`))
	_, err := c.CreateChild(t.Context(), wire.NewChild{Title: "worker:one", Labels: map[string]string{"k": "v"}})
	require.ErrorIs(t, err, wire.ErrConflict)
	require.NotErrorIs(t, err, wire.ErrRejected)
	require.Len(t, rec.requests(), 1)

	c = serve(t, answer(201, asJSON, `{}`))
	_, err = c.CreateChild(t.Context(), wire.NewChild{})
	require.ErrorContains(t, err, "no id")
}

func TestACreationWhoseAnswerIsLostIsFoundByItsLabels(t *testing.T) {
	child := wire.NewChild{ParentID: "p", Title: "worker:one", Labels: map[string]string{"omnigent.subagent.dispatch_id": "w1"}}
	for _, lose := range []http.HandlerFunc{hangUp, answer(502, "text/html", "<p>"), answer(201, asJSON, `{"id":"c`), answer(500, asJSON, `{}`)} {
		var rec recorder
		c := rec.serve(t, lose, list(false, row))
		made, err := c.CreateChild(t.Context(), child)
		require.NoError(t, err)
		require.Equal(t, "c1", made.ID)
		require.Equal(t, []string{
			"POST /base/v1/sessions", "GET /base/v1/sessions/p/child_sessions?limit=1&order=desc&tool=worker&session_name=one",
		}, rec.lines())
	}
	for name, after := range map[string]http.HandlerFunc{
		"none":           list(false),
		"of another":     list(false, strings.Replace(row, "w1", "w0", 1)),
		"cannot be read": hangUp,
	} {
		var rec recorder
		c := rec.serve(t, answer(500, asJSON, `{"detail":"first"}`), after)
		_, err := c.CreateChild(t.Context(), child)
		require.ErrorContains(t, err, "first", name)
	}
}

// The line is cut before the child is made, before the answer, and before the
// question whether it was.
func TestACreationIsAskedForAgain(t *testing.T) {
	child := wire.NewChild{ParentID: "p", Title: "worker:one", Labels: map[string]string{"omnigent.subagent.dispatch_id": "w1"}}
	for name, answers := range map[string][]http.HandlerFunc{
		"not made":                    {hangUp, list(false), answer(201, asJSON, `{"id":"c1"}`)},
		"made, and nobody can say so": {hangUp, hangUp, answer(409, asJSON, `{}`), list(false, row)},
	} {
		var rec recorder
		c := rec.serve(t, answers...)
		c.Timing.AwayPause = time.Millisecond
		made, err := c.CreateChild(t.Context(), child)
		require.NoError(t, err, name)
		require.Equal(t, "c1", made.ID, name)
		require.Len(t, rec.requests(), len(answers), name)
	}
	var rec recorder
	c := rec.serve(t, hangUp)
	_, err := c.CreateChild(t.Context(), wire.NewChild{Title: "worker:one"})
	require.True(t, unsure(err))
	require.Len(t, rec.requests(), 1, "without labels nobody could tell whose it is")
}

func TestFindChild(t *testing.T) {
	var rec recorder
	c := rec.serve(t, list(false, strings.ReplaceAll(row, `"one"`, `"o&e: 1"`)))
	child, ok, err := c.FindChild(t.Context(), "p", "worker", "o&e: 1")
	require.NoError(t, err)
	require.True(t, ok)
	want := summary()
	want.SessionName = "o&e: 1"
	require.Equal(t, want, child)
	require.Equal(t, "GET /base/v1/sessions/p/child_sessions?limit=1&order=desc&tool=worker&session_name=o%26e%3A+1", rec.only(t).line)

	c = serve(t, list(false))
	_, ok, err = c.FindChild(t.Context(), "p", "worker", "one")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestFindChildLooksFurtherThanTheFirst(t *testing.T) {
	closed := strings.NewReplacer("c1", "c2", `"labels":{`, `"labels":{"omnigent.closed":"true",`).Replace(row)
	other := strings.NewReplacer("c1", "c3", `"one"`, `"two"`).Replace(row)
	for name, c := range map[string]struct {
		newest string
		all    []string
		want   string
	}{
		"the newest is closed":             {closed, []string{closed, row}, "c1"},
		"a server that ignores the search": {other, []string{other, row}, "c1"},
		"the first open one is the newest": {other, []string{other, row, strings.Replace(row, "c1", "c0", 1)}, "c1"},
		"only closed ones":                 {closed, []string{closed, other}, ""},
	} {
		var rec recorder
		client := rec.serve(t, list(true, c.newest), list(false, c.all...))
		child, ok, err := client.FindChild(t.Context(), "p", "worker", "one")
		require.NoError(t, err, name)
		require.Equal(t, c.want != "", ok, name)
		require.Equal(t, c.want, child.ID, name)
		require.Equal(t, "GET /base/v1/sessions/p/child_sessions?limit=1000", rec.lines()[1], name)
	}
	client := new(recorder).serve(t, list(true, other), answer(500, asJSON, `{}`))
	_, _, err := client.FindChild(t.Context(), "p", "worker", "one")
	require.ErrorContains(t, err, "500", "what cannot be read is not what is not there")
}

func TestFindChildByID(t *testing.T) {
	for text, want := range map[string]wire.ChildSummary{
		`{"id":"c1","parent_session_id":"p","title":"worker:one:two","status":"waiting","labels":{"k":"v"}}`: {
			ID: "c1", Title: "worker:one:two", Tool: "worker", SessionName: "one:two", Busy: true, Status: "in_progress", Labels: map[string]string{"k": "v"},
		},
		`{"id":"c1","parent_session_id":"p","title":"worker:one","status":"running","sub_agent_name":"worker"}`: {
			ID: "c1", Title: "worker:one", Tool: "worker", SessionName: "one", AgentName: "worker", Busy: true, Status: "in_progress",
		},
		`{"id":"c1","parent_session_id":"p","title":"Fix it","status":"idle","sub_agent_name":null,"agent_name":"lead"}`: {
			ID: "c1", Title: "Fix it", SessionName: "Fix it", AgentName: "lead",
		},
		`{"id":"c1","parent_session_id":"p","title":null,"status":"failed","last_task_error":{"code":"x","message":"y"}}`: {
			ID: "c1", Status: "failed", ErrorCode: "x", ErrorMessage: "y",
		},
	} {
		var rec recorder
		c := rec.serve(t, answer(200, asJSON, text))
		child, ok, err := c.FindChild(t.Context(), "p", "", "c1")
		require.NoError(t, err)
		require.True(t, ok, text)
		require.Equal(t, want, child)
		require.Equal(t, "GET /base/v1/sessions/c1"+snapshotQuery, rec.only(t).line)
	}
	for _, text := range []string{`{"id":"c1","parent_session_id":"q","title":"secret"}`, `{"id":"c1"}`} {
		child, ok, err := serve(t, answer(200, asJSON, text)).FindChild(t.Context(), "p", "", "c1")
		require.NoError(t, err, text)
		require.True(t, ok, text)
		require.Equal(t, wire.ChildSummary{ID: "c1", Foreign: true}, child)
	}
	_, ok, err := serve(t, answer(404, asJSON, `{}`)).FindChild(t.Context(), "p", "", "c1")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestChildrenReadsAllPages(t *testing.T) {
	second := strings.Replace(row, "c1", "c/2", 1)
	third := strings.Replace(row, "c1", "c3", 1)
	var rec recorder
	c := rec.serve(t, list(true, row, second), list(true, second, third), list(false))
	all, err := c.Children(t.Context(), "p")
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, summary(), all[0])
	require.Equal(t, "c3", all[2].ID)
	require.Equal(t, []string{
		"GET /base/v1/sessions/p/child_sessions?limit=1000",
		"GET /base/v1/sessions/p/child_sessions?limit=1000&after=c%2F2",
		"GET /base/v1/sessions/p/child_sessions?limit=1000&after=c3",
	}, rec.lines())
}

func TestChildrenStopsWhenAServerDoesNotGetOn(t *testing.T) {
	var rec recorder
	c := rec.serve(t, list(true, row))
	all, err := c.Children(t.Context(), "p")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Len(t, rec.requests(), 2)

	var n atomic.Int64
	c = serve(t, func(w http.ResponseWriter, r *http.Request) {
		list(true, fmt.Sprintf(`{"id":"c%d"}`, n.Add(1)))(w, r)
	})
	_, err = c.Children(t.Context(), "p")
	require.ErrorContains(t, err, "more than 100 pages")
}

func TestAWrongListOfChildrenIsNotAnEmptyOne(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:             "no list of children",
		`{"data":null}`:  "no list of children",
		`{"data":{}}`:    "no list of children",
		`{"data":[{}]}`:  "a child without an id",
		`{"data":["c"]}`: "a child without an id",
	} {
		c := serve(t, answer(200, asJSON, text))
		_, err := c.Children(t.Context(), "p")
		require.ErrorContains(t, err, want, text)
		_, _, err = c.FindChild(t.Context(), "p", "worker", "one")
		require.ErrorContains(t, err, want, text)
	}
	c := new(recorder).serve(t, list(true, row), answer(503, asJSON, `{}`))
	c.Timing.Away = time.Millisecond
	_, err := c.Children(t.Context(), "p")
	require.ErrorContains(t, err, "503", "a listing that breaks off is not a short one")
}
