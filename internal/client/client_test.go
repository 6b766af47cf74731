package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	base, err := url.Parse(server.URL)
	require.NoError(t, err)
	c := New(base, "t0ken")
	t.Cleanup(func() {
		c.Close()
		server.Close()
	})
	return c
}

func TestListsAreReadToTheirEnd(t *testing.T) {
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		require.Equal(t, "Bearer t0ken", r.Header.Get("Authorization"))
		require.Empty(t, r.Header.Get("Origin"))
		if r.URL.Query().Get("after") == "" {
			_, _ = fmt.Fprint(w, `{"data":[{"id":"a","status":"idle"},{"id":"b","title":null,"labels":5}],"has_more":true}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"data":[{"id":"c"}],"has_more":false}`)
	})
	sessions, raws, err := c.Sessions(t.Context())
	require.NoError(t, err)
	require.Len(t, sessions, 3)
	require.Equal(t, "idle", sessions[0].Status)
	require.JSONEq(t, `{"id":"b","title":null,"labels":5}`, string(raws[1]))
	require.Equal(t, []string{"/v1/sessions?order=desc&limit=100", "/v1/sessions?order=desc&limit=100&after=b"}, asked)
}

func TestAListThatNeverEndsEnds(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"data":[],"has_more":true}`) })
	agents, _, err := c.Agents(t.Context())
	require.NoError(t, err)
	require.Empty(t, agents)
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		handler http.HandlerFunc
		want    string
		again   bool
	}{
		{func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			_, _ = fmt.Fprint(w, `{"error":{"code":"not_found","message":"Not found."}}`)
		}, "the server answered 404: Not found.", false},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
			_, _ = fmt.Fprint(w, `{"detail":"no"}`)
		}, "the server answered 401: no; give its token with --server-token-file", false},
		{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "the server answered 503", true},
		{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, `<html>`)
		}, "answered with an HTML page: is it an outrunner server?", false},
		{func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, "answered with a redirect", false},
		{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "the server cannot be reached at http://", true},
	} {
		_, err := serve(t, c.handler).Runners(t.Context())
		require.ErrorContains(t, err, c.want)
		require.Equal(t, c.again, mayPass(err), c.want)
	}
}

func TestPostSaysWhyThereIsNoItem(t *testing.T) {
	for answer, want := range map[string]string{
		`{"queued":false,"denied":true,"reason":"policy"}`: "refused the message: policy",
		`{"queued":true,"pending_id":"p"}`:                 "without saying under which id",
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, answer) })
		_, err := c.Post(t.Context(), "s", "text", "id")
		require.ErrorContains(t, err, want)
	}
}
