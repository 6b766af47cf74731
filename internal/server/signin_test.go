package server

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

const publicHost = "runs.example.org"

func fromElsewhere(c *Config) { c.PublicHosts = []string{publicHost} }

// signsIn sends the form as a browser does.
func (s *site) signsIn(token, next string, header map[string]string) (*http.Response, string) {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(s.t, form.WriteField("token", token))
	require.NoError(s.t, form.WriteField("next", next))
	require.NoError(s.t, form.Close())
	all := map[string]string{"Host": publicHost, "Origin": "https://" + publicHost, "Content-Type": form.FormDataContentType()}
	for k, v := range header {
		all[k] = v
	}
	was := s.http.CheckRedirect
	defer func() { s.http.CheckRedirect = was }()
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, raw := s.raw("POST", "/sign-in", body.String(), all)
	return res, string(raw)
}

// A browser elsewhere gives the token once; its cookie then opens everything,
// for that browser's own pages only.
func TestSigningIn(t *testing.T) {
	s := newSite(t, fromElsewhere)
	session := s.session()
	html := map[string]string{"Host": publicHost, "Accept": "text/html,*/*"}
	res, page := s.raw("GET", "/c/"+session, nil, html)
	require.Equal(t, 401, res.StatusCode)
	require.Contains(t, string(page), `value="/c/`+session+`"`)
	require.Contains(t, string(page), `action="/sign-in"`)
	require.Equal(t, "same-origin", res.Header.Get("Referrer-Policy"), "else the form comes with the origin null")
	require.Contains(t, res.Header.Get("Content-Security-Policy"), "default-src 'none'")
	res, page = s.raw("GET", "/v1/me", nil, html)
	require.Equal(t, 401, res.StatusCode)
	require.NotContains(t, string(page), "<form", "the API stays the API")
	res, page = s.raw("GET", "/assets/x.js", nil, map[string]string{"Host": publicHost, "Accept": "*/*"})
	require.Equal(t, 401, res.StatusCode)
	require.NotContains(t, string(page), "<form")

	for _, wrong := range []string{"", "x", s.srv.token + "x", s.srv.cookieSecret()} {
		res, out := s.signsIn(wrong, "/", nil)
		require.Equal(t, 401, res.StatusCode)
		require.Contains(t, out, "not this server")
		require.Empty(t, res.Cookies())
	}
	res, _ = s.signsIn(s.srv.token+"\n", "/c/"+session, nil)
	require.Equal(t, 303, res.StatusCode)
	require.Equal(t, "/c/"+session, res.Header.Get("Location"))
	require.Len(t, res.Cookies(), 1)
	cookie := res.Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.False(t, cookie.Secure)
	require.Equal(t, "/", cookie.Path)
	require.NotContains(t, cookie.Value, s.srv.token)
	res, _ = s.signsIn(s.srv.token, "/", map[string]string{"X-Forwarded-Proto": "https"})
	require.True(t, res.Cookies()[0].Secure)
	for _, away := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "", "/\nX: y"} {
		res, _ = s.signsIn(s.srv.token, away, nil)
		require.Equal(t, "/", res.Header.Get("Location"), away)
	}

	with := func(more ...string) map[string]string {
		h := map[string]string{"Host": publicHost, "Cookie": cookie.Name + "=" + cookie.Value}
		for n := 0; n < len(more); n += 2 {
			h[more[n]] = more[n+1]
		}
		return h
	}
	for want, header := range map[int]map[string]string{200: with("Origin", "https://"+publicHost), 403: with("Origin", "https://evil.example"), 401: with("Cookie", cookie.Name+"="+cookie.Value+"x")} {
		res, _ = s.raw("GET", "/v1/me", nil, header)
		require.Equal(t, want, res.StatusCode)
	}
	res, _ = s.raw("GET", "/", nil, with("Accept", "text/html"))
	require.Equal(t, 200, res.StatusCode)
	for _, path := range []string{"/v1/sessions/updates", strings.TrimPrefix(s.wsURL(session, ""), s.url)} {
		ws, _, err := websocket.Dial(t.Context(), s.url+path, &websocket.DialOptions{Host: publicHost,
			HTTPHeader: http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}, "Origin": {"https://" + publicHost}}})
		require.NoError(t, err, path)
		require.NoError(t, ws.CloseNow())
	}
	s.restart()
	res, _ = s.raw("GET", "/v1/me", nil, with())
	require.Equal(t, 200, res.StatusCode, "a browser stays signed in over a restart")
}

// A page of another site cannot sign a browser in, nor can one form do without
// being asked.
func TestNobodySignsInForAnother(t *testing.T) {
	s := newSite(t, fromElsewhere)
	for name, header := range map[string]map[string]string{
		"another site": {"Origin": "https://evil.example"}, "a sandboxed frame": {"Origin": "null"}, "rebound": {"Host": "evil.example"},
	} {
		res, _ := s.signsIn(s.srv.token, "/", header)
		require.Equal(t, 403, res.StatusCode, name)
		require.Empty(t, res.Cookies(), name)
	}
	res, _ := s.raw("POST", "/sign-in", "token="+s.srv.token, map[string]string{"Host": publicHost, "Content-Type": "application/x-www-form-urlencoded"})
	require.Equal(t, 415, res.StatusCode)
	res, _ = s.raw("POST", "/sign-in", `{"token":"x"}`, map[string]string{"Host": publicHost})
	require.Equal(t, 415, res.StatusCode)
	res, _ = s.signsIn(strings.Repeat("x", maxSignIn), "/", nil)
	require.Equal(t, 400, res.StatusCode)
	res, _ = s.raw("GET", "/sign-in", nil, map[string]string{"Host": publicHost})
	require.Equal(t, 401, res.StatusCode)
}

// On the server's own machine nothing asks for anything.
func TestNoSignInAtHome(t *testing.T) {
	s := newSite(t)
	res, _ := s.raw("GET", "/c/x", nil, map[string]string{"Accept": "text/html"})
	require.Equal(t, 200, res.StatusCode)
	for path, want := range map[string]int{"/v1/x": 404, "/api/x": 404, "/auth/x": 404, "/health/x": 404, "/.well-known/x": 404} {
		res, _ := s.raw("GET", path, nil, nil)
		require.Equal(t, want, res.StatusCode, path)
	}
	res, _ = s.raw("DELETE", "/c/x", nil, nil)
	require.Equal(t, 404, res.StatusCode)
}
