//go:build linux

package chaos

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// requireEnds requires of each child that it was started at most once and has
// one outcome, which is what its session, its parent's list and its answer say.
func (s *storm) requireEnds() {
	begun := s.runner.Lines("ran")
	for title, c := range s.kids(s.t) {
		items, err := s.Items(c.ID)
		require.NoError(s.t, err)
		var tasks []string
		for _, i := range items {
			if i.Role == "user" {
				tasks = append(tasks, i.ID)
			}
		}
		require.Len(s.t, tasks, 1, "tasks of child %s; its parent: %s", title, s.conversation(s.root))
		end := s.Settled(turnLimit, c.ID, tasks[0])[0]
		at, err := s.Session(c.ID)
		require.NoError(s.t, err)
		require.Nil(s.t, at.Response, "child %s has an open response", title)
		answer, times := s.Answer(c.ID, end.Response), count(begun, title)
		require.LessOrEqual(s.t, times, 1, "starts of child %s", title)
		switch {
		case s.killed[tasks[0]]:
			require.Equal(s.t, wire.CodeRunnerRestarted, end.Code, "a death fell into the turn of child %s", title)
		case s.how[title] == "well":
			require.Equal(s.t, "completed", end.Status, "child %s: %s", title, end.Message)
			require.Equal(s.t, title+" is done", answer)
			require.Equal(s.t, 1, times, "starts of child %s", title)
		default:
			require.Equal(s.t, "no_luck", end.Code, "child %s", title)
			require.Equal(s.t, 1, times, "starts of child %s", title)
		}
		require.Equal(s.t, end.Status, c.Status, "what its parent's list says of child %s", title)
		if end.Status == "completed" {
			require.Equal(s.t, "idle", at.Status, "the session of child %s", title)
		} else {
			require.Equal(s.t, "failed", at.Status, "the session of child %s", title)
			require.Equal(s.t, end.Code, at.LastError.Code, "the session of child %s", title)
		}
	}
	require.NotEmpty(s.t, s.killed, "no death fell into a turn, so nothing was tested")
	for _, end := range s.Settled(turnLimit, s.root, s.tasks...) {
		require.Equal(s.t, "completed", end.Status, "dispatching: %s", end.Message)
	}
}

// conversation is a session's items, to tell what went wrong.
func (s *storm) conversation(session string) string {
	items, err := s.Items(session)
	require.NoError(s.t, err)
	var text strings.Builder
	for _, i := range items {
		fmt.Fprintf(&text, "\n  %s %s %s %.80q %s%s", i.Type, i.Role, i.CallID, i.Output, i.Text(), i.Code)
	}
	return text.String()
}

// payload is how a result begins that is shown to a parent.
const payload = "[System: sub-agent task "

// requireResults requires that each child has one result, which is the right
// one; that it was shown once without a mark at most, and else with one; not
// before the child was dispatched; and that the parent was woken.
func (s *storm) requireResults() {
	items, err := s.Items(s.root)
	require.NoError(s.t, err)
	kids := s.kids(s.t)
	titles, handles, wakes := map[string]string{}, map[string]string{}, 0
	for title, c := range kids {
		titles[c.ID] = title
	}
	asked := map[string]bool{} // the titles of dispatches
	fresh, again := map[string][]string{}, map[string][]string{}
	take := func(text string) {
		for _, block := range strings.Split(text, "\n\n") {
			rest, ok := strings.CutPrefix(block, payload)
			if !ok {
				require.Equal(s.t, emptyInbox, block)
				continue
			}
			if strings.HasSuffix(rest, ": policy evaluation failed]") {
				continue // it is kept for the next reading
			}
			id, said, _ := strings.Cut(rest, " ")
			if before := strings.Replace(said, " (shown before)", "", 1); before != said {
				again[id] = append(again[id], before)
			} else {
				fresh[id] = append(fresh[id], said)
			}
		}
	}
	for _, i := range items {
		switch {
		case i.Role == "user" && strings.HasPrefix(i.Text(), "[System: sub-agent worker/"):
			wakes++
		case i.Type == "function_call":
			if title, ok := strings.CutPrefix(i.CallID, "send-"); ok {
				asked[title] = true
			}
		case i.Type == "function_call_output" && strings.HasPrefix(i.CallID, "send-"):
			var handle struct {
				Child string `json:"conversation_id"`
				Title string `json:"title"`
			}
			require.NoError(s.t, json.Unmarshal([]byte(i.Output), &handle), i.Output)
			handles[handle.Title] = handle.Child
		case i.Type == "function_call_output":
			take(i.Output)
			for id := range fresh {
				require.True(s.t, asked[titles[id]], "the result of child %s precedes its work", titles[id])
			}
		}
	}
	for _, r := range s.told {
		take(r.text)
	}
	require.GreaterOrEqual(s.t, wakes, waves, "wakes of the parent")
	require.Len(s.t, kids, waves*perWave)
	for title, c := range kids {
		require.Equal(s.t, c.ID, handles[title], "what its parent was told of child %s", title)
		require.LessOrEqual(s.t, len(fresh[c.ID]), 1, "results of child %s: %q", title, fresh[c.ID])
		all := append(fresh[c.ID], again[c.ID]...)
		require.NotEmpty(s.t, all, "the result of child %s was never shown", title)
		for _, said := range all {
			require.Equal(s.t, all[0], said, "results of child %s", title)
		}
		switch want := fmt.Sprintf("%s — worker:%s ", c.Status, title); c.Status {
		case "completed":
			require.Equal(s.t, want+"returned: "+title+" is done]", all[0])
		default:
			require.True(s.t, strings.HasPrefix(all[0], want+"error: "), all[0])
		}
	}
}
