package serverapi

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// request is one that a recorder saw.
type request struct {
	line, body string
	header     http.Header
}

// recorder gives the answers one after the other, the last one for ever.
type recorder struct {
	mu   sync.Mutex
	seen []request
}

func (rec *recorder) serve(t *testing.T, answers ...http.HandlerFunc) *Client {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err) // the client hung up in its own request
		}
		rec.mu.Lock()
		rec.seen = append(rec.seen, request{r.Method + " " + r.RequestURI, string(text), r.Header})
		n := len(rec.seen)
		rec.mu.Unlock()
		answers[min(n, len(answers))-1](w, r)
	})
}

// requests are those that were seen so far.
func (rec *recorder) requests() []request {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.seen)
}

// lines are their methods and paths.
func (rec *recorder) lines() []string {
	var lines []string
	for _, r := range rec.requests() {
		lines = append(lines, r.line)
	}
	return lines
}

// only is the one request that was seen, which carried what every one does.
func (rec *recorder) only(t *testing.T) request {
	t.Helper()
	all := rec.requests()
	require.Len(t, all, 1)
	require.Equal(t, "omnigent://internal", all[0].header.Get("Origin"))
	if all[0].body != "" {
		require.Equal(t, asJSON, all[0].header.Get("Content-Type"))
	}
	return all[0]
}

// hangUp ends the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
