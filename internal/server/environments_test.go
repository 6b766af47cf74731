package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A path below an environment reaches the runner as it was meant: decoded once,
// never cleaned.
func TestPathsOfAnEnvironmentAreNotCleaned(t *testing.T) {
	s, r, session, _ := started(t)
	r.answers(func(request) (int, string) { return 200, `{"object":"list"}` })
	base := "/v1/sessions/" + session + "/resources/environments/default"
	for given, want := range map[string]string{
		"":                                    "",
		"/filesystem":                         "/filesystem ?scope=reach",
		"/filesystem/":                        "/filesystem/ ?scope=reach",
		"/filesystem/a%20b/c?limit=5&x=1":     "/filesystem/a b/c ?limit=5&scope=reach",
		"/filesystem/%2Fetc/hosts":            "/filesystem//etc/hosts ?scope=reach",
		"/filesystem//etc/hosts":              "/filesystem//etc/hosts ?scope=reach",
		"/filesystem/etc/hosts?base=host":     "/filesystem//etc/hosts ?scope=reach",
		"/filesystem?base=host":               "/filesystem// ?scope=reach",
		"/filesystem/a/../../b":               "/filesystem/a/../../b ?scope=reach",
		"/filesystem/%252e":                   "/filesystem/%2e ?scope=reach",
		"/filesystem/a?scope=other&order=asc": "/filesystem/a ?order=asc&scope=reach",
		"/search/src?q=x&include=*.go&a=b":    "/search/src ?include=%2A.go&q=x",
		"/changes?limit=3":                    "/changes",
		"/diff/a%2Fb":                         "/diff/a/b",
	} {
		s.rawPath(200, "GET", base+given, "")
		last := r.resources(session)
		got := strings.TrimPrefix(last[len(last)-1].path, base)
		if q := last[len(last)-1].query; q != "" {
			got += " ?" + q
		}
		require.Equal(t, want, got, given)
	}
	for given, want := range map[string]int{
		"/other": 404, "/search": 422, "/search?q=%20": 422, "/search?q=x&limit=501": 422, "/filesystem?limit=0": 422, "/filesystem?order=x": 422,
	} {
		s.rawPath(want, "GET", base+given, "")
	}
	s.rawPath(405, "POST", base+"/filesystem/a", "{}")
	s.rawPath(405, "GET", base+"/shell", "")
	s.rawPath(404, "GET", "/v1/sessions/"+strings.Repeat("0", 32)+"/resources/environments/default/changes", "")
}

// rawPath sends a request whose path no library cleans.
func (s *site) rawPath(want int, method, path, body string) string {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, conn.Close()) }()
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, path, s.addr)
	require.NoError(s.t, err)
	if body != "" {
		_, err = fmt.Fprintf(conn, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
		require.NoError(s.t, err)
	}
	_, err = io.WriteString(conn, "\r\n"+body)
	require.NoError(s.t, err)
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(patience)))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, want, res.StatusCode, "%s %s: %s", method, path, raw)
	return string(raw)
}

// A change of a file is told to viewers; a refusal keeps the runner's status.
func TestChangingFiles(t *testing.T) {
	s, r, session, _ := started(t)
	base := "/v1/sessions/" + session + "/resources/environments/default"
	status := 200
	r.answers(func(q request) (int, string) {
		if status != 200 {
			return status, `{"error":{"code":"directory_not_empty","message":"not empty"}}`
		}
		return 200, `{"object":"done"}`
	})
	v := s.watch(session, "")
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/filesystem/a.txt", `{"content":"x"}`}, {"PATCH", "/filesystem/a.txt", `{"old_text":"x","new_text":"y"}`}, {"DELETE", "/filesystem/a?recursive=true", ""},
	} {
		s.rawPath(200, c.method, base+c.path, c.body)
		e := v.next()
		require.Equal(t, typeChangedFiles, e.typ)
		require.NotEmpty(t, e.id)
		require.Equal(t, "default", e.data["environment_id"])
	}
	for _, q := range r.resources(session) {
		switch q.method {
		case "DELETE":
			require.Equal(t, "recursive=true", q.query)
		case "PUT":
			require.Equal(t, map[string]any{"content": "x"}, q.body)
		}
	}
	require.Equal(t, map[string]any{"object": "done"}, s.ok(200, "POST", base+"/shell", map[string]any{"command": "ls"}))
	status = 409
	require.Equal(t, map[string]any{"detail": "not empty"}, s.ok(409, "DELETE", base+"/filesystem/a", nil))
	status = 404
	s.ok(404, "PUT", base+"/filesystem/a", map[string]any{"content": ""})
	s.ok(413, "PUT", base+"/filesystem/a", map[string]any{"content": strings.Repeat("x", maxFileWrite)})
	s.told(session, 0, 1)
	require.Equal(t, "response.output_item.done", v.next().typ, "neither the shell nor a refusal changed a file")
}

// A download passes through, larger than anything that is held, and breaks when
// it breaks at the runner.
func TestDownloads(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.Download = time.Minute })
	path := "/v1/sessions/" + session + "/resources/environments/default/filesystem/a.html?download=true"
	const size = 40 << 20 // more than the tunnel holds for one stream
	how := "whole"
	r.specially(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		switch how {
		case "refused":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"code":"invalid_path","message":"a folder"}}`)
			return
		case "old":
			h.Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{}`)
			return
		}
		h.Set("Content-Type", "text/html")
		h.Set("Content-Disposition", `attachment; filename="a.html"`)
		h.Set("Content-Length", strconv.Itoa(size))
		h.Set("Set-Cookie", "a=b")
		piece := make([]byte, 1<<20)
		for n := range size >> 20 {
			if n == 3 && how == "broken" {
				panic(http.ErrAbortHandler)
			}
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	get := func() (*http.Response, int64, error) {
		res, err := s.http.Get(s.url + path)
		require.NoError(t, err)
		defer res.Body.Close()
		n, err := io.Copy(io.Discard, res.Body)
		return res, n, err
	}
	res, n, err := get()
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	require.EqualValues(t, size, n)
	require.Equal(t, `attachment; filename="a.html"`, res.Header.Get("Content-Disposition"))
	require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
	require.Contains(t, res.Header.Get("Content-Security-Policy"), "sandbox")
	require.Empty(t, res.Header.Get("Set-Cookie"), "a runner sets no cookies")
	how = "broken"
	res, n, err = get()
	require.Equal(t, 200, res.StatusCode)
	require.Error(t, err)
	require.Less(t, n, int64(size))
	for _, how = range []string{"refused", "old"} {
		res, _, err = get()
		require.NoError(t, err)
		require.Equal(t, 502, res.StatusCode, how)
	}
}

// A download whose runner goes silent breaks, too.
func TestAStalledDownload(t *testing.T) {
	s, r, session, _ := started(t, func(c *Config) { c.Timing.Download = 300 * time.Millisecond })
	r.specially(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Disposition", "attachment")
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "12345")
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	})
	res, err := s.http.Get(s.url + "/v1/sessions/" + session + "/resources/environments/default/filesystem/a?download=true")
	if err != nil {
		return // the machine is slow: not even the headers came in time
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if res.StatusCode == http.StatusOK {
		require.Error(t, err)
		require.Less(t, len(got), 10)
	} else {
		require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	}
}
