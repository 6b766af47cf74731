package web

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func get(t *testing.T, method, target string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	var b strings.Builder
	_, err := io.Copy(&b, r.Body)
	require.NoError(t, err)
	return b.String()
}

func TestThePageIsServedWhereItShowsSomething(t *testing.T) {
	for target, status := range map[string]int{
		"/":              http.StatusOK,
		"/c/abc":         http.StatusOK,
		"/c/":            http.StatusNotFound,
		"/c/abc/d":       http.StatusNotFound,
		"/elsewhere":     http.StatusNotFound,
		"/c/../../x":     http.StatusNotFound,
		"/assets":        http.StatusNotFound,
		"/../web.go":     http.StatusNotFound,
		"/index.html":    http.StatusOK,
		"/c/%2e%2e%2fgo": http.StatusNotFound,
	} {
		r := get(t, http.MethodGet, target)
		require.Equal(t, status, r.StatusCode, target)
		require.Equal(t, "text/html; charset=utf-8", r.Header.Get("Content-Type"), target)
		require.Equal(t, "no-store", r.Header.Get("Cache-Control"), target)
		require.Contains(t, body(t, r), `<div id="app">`, target)
	}
}

func TestFilesAreCachedUnderNamesThatSayWhatIsInThem(t *testing.T) {
	names, err := fs.Glob(built, "dist/assets/*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		r := get(t, http.MethodGet, "/assets/"+path.Base(name))
		require.Equal(t, http.StatusOK, r.StatusCode, name)
		require.Equal(t, "public, max-age=31536000, immutable", r.Header.Get("Cache-Control"), name)
		want, err := fs.ReadFile(built, name)
		require.NoError(t, err)
		require.Equal(t, string(want), body(t, r), name)
	}
	r := get(t, http.MethodGet, "/favicon.svg")
	require.Equal(t, "image/svg+xml", r.Header.Get("Content-Type"))
	require.Equal(t, "no-cache", r.Header.Get("Cache-Control"))

	r = get(t, http.MethodGet, "/assets/index-old.js")
	require.Equal(t, http.StatusNotFound, r.StatusCode, "a script of another version is not the page")
	require.NotContains(t, body(t, r), "<div")
}

func TestThePageLoadsOnlyWhatIsHere(t *testing.T) {
	page := body(t, get(t, http.MethodGet, "/"))
	for _, part := range strings.Split(page, `"`) {
		if name, ok := strings.CutPrefix(part, "/"); ok && strings.Contains(name, ".") {
			require.Equal(t, http.StatusOK, get(t, http.MethodGet, part).StatusCode, part)
		}
		require.False(t, strings.HasPrefix(part, "http"), part)
	}
	require.NotContains(t, page, "<style")
	require.NotContains(t, page, "<script>")
}

func TestThePolicyLetsNothingElseIn(t *testing.T) {
	csp := get(t, http.MethodGet, "http://box.example:7171/").Header.Get("Content-Security-Policy")
	rules := map[string]string{}
	for _, rule := range strings.Split(csp, "; ") {
		name, value, _ := strings.Cut(rule, " ")
		rules[name] = value
	}
	require.Equal(t, "'none'", rules["default-src"])
	require.Equal(t, "'self'", rules["script-src"])
	require.Equal(t, "'self' ws://box.example:7171 wss://box.example:7171", rules["connect-src"])
	require.Equal(t, "'none'", rules["frame-ancestors"])
	require.Equal(t, "'none'", rules["base-uri"])

	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = "a; script-src *"
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	require.NotContains(t, w.Header().Get("Content-Security-Policy"), "*", "a host can not add a rule")
}

func TestThePagesAreOnlyRead(t *testing.T) {
	r := get(t, http.MethodPost, "/")
	require.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
	require.Equal(t, "GET, HEAD", r.Header.Get("Allow"))
	require.Empty(t, body(t, get(t, http.MethodHead, "/c/abc")))
}
