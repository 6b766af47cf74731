//go:build interop

package peer

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
)

// Dict is a JSON object.
type Dict = map[string]any

// Must makes a call that must be answered with 2xx and an object.
func (s *Server) Must(method, path string, body any) Dict {
	s.t.Helper()
	status, text, err := s.Do(method, path, body)
	require.NoError(s.t, err)
	require.True(s.t, status >= 200 && status < 300, "%s %s: %d %s", method, path, status, text)
	var out Dict
	require.NoError(s.t, json.Unmarshal(text, &out), "%s %s: %s", method, path, text)
	return out
}

// Page reads the rows of a listing.
func (s *Server) Page(path string) []Dict {
	s.t.Helper()
	rows, ok := s.Must(http.MethodGet, path, nil)["data"].([]any)
	require.True(s.t, ok, "%s: a listing", path)
	var out []Dict
	for _, r := range rows {
		out = append(out, r.(Dict))
	}
	return out
}

// Rows are all items of a session, oldest first, with all their keys.
func (s *Server) Rows(session string) []Dict {
	s.t.Helper()
	var all []Dict
	for after := ""; ; {
		path := "/v1/sessions/" + session + "/items?order=asc&limit=1000"
		if after != "" {
			path += "&after=" + after
		}
		page := s.Page(path)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1]["id"].(string)
	}
}

// Said is all that the assistant has said in a session, in order.
func (s *Server) Said(session string) string {
	s.t.Helper()
	items, err := s.Items(session)
	require.NoError(s.t, err)
	var text strings.Builder
	for _, i := range items {
		if i.Type == "message" && i.Role == "assistant" {
			text.WriteString(i.Text())
		}
	}
	return text.String()
}
