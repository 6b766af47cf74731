package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A session that still runs is stopped a while after it was archived, unless
// the user takes that back.
func TestAnArchivedSessionStops(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.ArchiveStop = 100 * time.Millisecond })
	kept := s.session()
	s.send(kept, "go")
	r.await(s, kept, "message", 1)
	for _, id := range []string{session, kept} {
		r.say(id, status(id, "running"), response("in_progress", "resp_"+id[:8], nil))
		s.status(id, "running")
	}
	s.ok(200, "PATCH", "/v1/sessions/"+kept, map[string]any{"archived": true})
	s.ok(200, "PATCH", "/v1/sessions/"+kept, map[string]any{"archived": false})
	s.ok(200, "PATCH", "/v1/sessions/"+session, map[string]any{"archived": true})
	r.await(s, session, "stop_session", 1)
	require.Empty(t, r.requests(kept, "stop_session"), "its time was over first")
	labels := s.snapshot(kept)["labels"].(map[string]any)
	require.NotContains(t, labels, labelArchivedAt)
	s.send(session, "still here")
	r.await(s, session, "message", 2)
}

func TestListFilters(t *testing.T) {
	s := newSite(t)
	plain := s.session(map[string]any{"title": "Plain"})
	project := s.session(map[string]any{"title": "in a project", "project_id": "p"})
	archived := s.session(map[string]any{"title": "plain too"})
	s.ok(200, "PATCH", "/v1/sessions/"+archived, map[string]any{"archived": true})
	child := s.ok(201, "POST", "/v1/sessions", map[string]any{"agent_id": s.shell(), "parent_session_id": plain, "title": "w:1"})["id"].(string)
	s.ok(200, "PATCH", "/v1/sessions/"+project, map[string]any{"project_id": nil}) // as if it were not there
	ids := func(query string) []string {
		t.Helper()
		out := []string{}
		for _, row := range s.ok(200, "GET", "/v1/sessions?order=asc&"+query, nil)["data"].([]any) {
			out = append(out, row.(map[string]any)["id"].(string))
		}
		return out
	}
	for query, want := range map[string][]string{
		"":                                      {plain, project},
		"visibility=mine&include_archived=true": {plain, project},
		"visibility=shared":                     {},
		"visibility=archived":                   {archived},
		"include_archived=true":                 {plain, project, archived},
		"search_query=PLAIN":                    {plain},
		"search_query=PLAIN&include_archived=true": {plain, archived},
		"kind=sub_agent":        {child},
		"kind=any":              {plain, project, child},
		"project=p":             {project},
		"pinned=true":           {},
		"agent_id=" + s.shell(): {plain, project},
		"agent_name=other":      {},
	} {
		require.Equal(t, want, ids(query), query)
	}
	for query, want := range map[string]string{"visibility=x": "string_pattern_mismatch", "kind=x": "string_pattern_mismatch", "sort_by=x": "string_pattern_mismatch",
		"order=x": "string_pattern_mismatch", "limit=0": "greater_than_equal", "limit=1001": "less_than_equal", "limit=x": "int_parsing"} {
		row := s.ok(422, "GET", "/v1/sessions?"+query, nil)["detail"].([]any)[0].(map[string]any)
		require.Equal(t, want, row["type"], query)
		require.Equal(t, "query", row["loc"].([]any)[0])
		require.NotNil(t, row["input"])
	}
}
