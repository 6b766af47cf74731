package server

import (
	"bytes"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// What a web page can make a browser send does nothing here, whatever the
// path: every rule is driven through a real connection.
func TestAPageCanDoNothing(t *testing.T) {
	s := newSite(t, func(c *Config) { c.PublicHosts = []string{"runs.example.org", "two.example.org:8443"} })
	session := s.session()
	body := `{"type":"message","data":{"role":"user","content":[{"type":"input_text","text":"touch owned"}]}}`
	events := "/v1/sessions/" + session + "/events"
	port := s.addr[strings.LastIndex(s.addr, ":"):]
	for name, c := range map[string]struct {
		method, path string
		body         any
		header       map[string]string
		want         int
	}{
		"our own client":                {"POST", events, body, nil, 202},
		"our own page":                  {"POST", events, body, map[string]string{"Origin": s.url}, 202},
		"a runner":                      {"POST", events, body, map[string]string{"Origin": originInternal}, 202},
		"loopback name, any port":       {"GET", "/v1/me", nil, map[string]string{"Host": "localhost:1"}, 200},
		"loopback number":               {"GET", "/v1/me", nil, map[string]string{"Host": "127.0.0.2"}, 200},
		"loopback number, six":          {"GET", "/v1/me", nil, map[string]string{"Host": "[::1]:80"}, 200},
		"another origin":                {"POST", events, body, map[string]string{"Origin": "https://evil.example"}, 403},
		"another origin, reading":       {"GET", "/v1/sessions", nil, map[string]string{"Origin": "https://evil.example"}, 403},
		"another port of this machine":  {"POST", events, body, map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		"another name of this machine":  {"POST", events, body, map[string]string{"Origin": "http://localhost" + port}, 403},
		"a file or sandboxed frame":     {"POST", events, body, map[string]string{"Origin": "null"}, 403},
		"an origin that only looks so":  {"POST", events, body, map[string]string{"Origin": s.url + ".evil.example"}, 403},
		"rebound name":                  {"POST", events, body, map[string]string{"Host": "evil.example" + port}, 403},
		"rebound name, its own origin":  {"POST", events, body, map[string]string{"Host": "evil.example" + port, "Origin": "http://evil.example" + port}, 403},
		"rebound name, reading":         {"GET", "/v1/sessions", nil, map[string]string{"Host": "evil.example"}, 403},
		"rebound name on the page":      {"GET", "/", nil, map[string]string{"Host": "evil.example"}, 403},
		"a name with loopback in it":    {"GET", "/v1/me", nil, map[string]string{"Host": "127.0.0.1.evil.example"}, 403},
		"localhost below a name":        {"GET", "/v1/me", nil, map[string]string{"Host": "evil.localhost.example"}, 403},
		"form post":                     {"POST", events, "type=message", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415},
		"text post with JSON in it":     {"POST", events, body, map[string]string{"Content-Type": "text/plain"}, 415},
		"a post that says two types":    {"POST", events, body, map[string]string{"Content-Type": "text/plain, application/json"}, 415},
		"multipart post to events":      {"POST", events, "--x--", map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, 415},
		"multipart post, other origin":  {"POST", "/v1/sessions", "--x--", map[string]string{"Content-Type": "multipart/form-data; boundary=x", "Origin": "https://evil.example"}, 403},
		"empty form post":               {"POST", events, nil, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415},
		"preflight":                     {"OPTIONS", events, nil, map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "DELETE"}, 403},
		"delete from elsewhere":         {"DELETE", "/v1/sessions/" + session, nil, map[string]string{"Origin": "https://evil.example"}, 403},
		"public name without the token": {"GET", "/v1/me", nil, map[string]string{"Host": "runs.example.org"}, 401},
		"public name, wrong port":       {"GET", "/v1/me", nil, map[string]string{"Host": "two.example.org:9"}, 403},
		"forwarded without the token":   {"GET", "/v1/me", nil, map[string]string{"X-Forwarded-For": "203.0.113.9"}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(s.items(session))
			res, raw := s.raw(c.method, c.path, c.body, c.header)
			require.Equal(t, c.want, res.StatusCode, string(raw))
			require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
			require.Empty(t, res.Header.Values("Access-Control-Allow-Origin"))
			if c.want >= 400 {
				require.Len(t, s.items(session), before, "a refused request changes nothing")
			}
		})
	}
}

func TestTheTokenOpensWhatIsNotLocal(t *testing.T) {
	s := newSite(t, func(c *Config) { c.PublicHosts = []string{"runs.example.org"} })
	info, err := os.Stat(filepath.Join(s.cfg.Dir, "token"))
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	raw, err := os.ReadFile(filepath.Join(s.cfg.Dir, "token"))
	require.NoError(t, err)
	token := strings.TrimSpace(string(raw))
	for auth, want := range map[string]int{"Bearer " + token: 200, "Bearer " + token + "x": 401, "Bearer ": 401, "Basic " + token: 401, token: 401} {
		res, _ := s.raw("GET", "/v1/me", nil, map[string]string{"Host": "runs.example.org", "Authorization": auth})
		require.Equal(t, want, res.StatusCode, auth)
	}
	s.restart()
	res, _ := s.raw("GET", "/v1/me", nil, map[string]string{"Host": "runs.example.org", "Authorization": "Bearer " + token})
	require.Equal(t, 200, res.StatusCode, "the token outlives the server")
}

// abroad is a listener whose connections seem to come from another machine, to
// an address of this one.
type abroad struct{ net.Listener }

type abroadConn struct{ net.Conn }

func (a abroad) Accept() (net.Conn, error) {
	c, err := a.Listener.Accept()
	return abroadConn{c}, err
}

func (abroadConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(203, 0, 113, 9), Port: 50000}
}
func (abroadConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7171} }

func TestAPeerFromElsewhereNeedsTheToken(t *testing.T) {
	s := newSite(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	web := &http.Server{Handler: s.srv.Handler()}
	go func() { _ = web.Serve(abroad{listener}) }()
	t.Cleanup(func() { require.NoError(t, web.Close()) })
	s.srv.cfg.Listen = "0.0.0.0:7171"
	s.url = "http://" + listener.Addr().String()
	bearer := "Bearer " + s.srv.token

	for name, c := range map[string]struct {
		host, auth string
		want       int
	}{
		"no token":                      {"192.0.2.1:7171", "", 401},
		"the token":                     {"192.0.2.1:7171", bearer, 200},
		"a loopback name is no excuse":  {"localhost:7171", "", 401},
		"an address that is not here":   {"192.0.2.2:7171", bearer, 403},
		"a name, though with the token": {"evil.example:7171", bearer, 403},
	} {
		res, raw := s.raw("GET", "/v1/me", nil, map[string]string{"Host": c.host, "Authorization": c.auth})
		require.Equal(t, c.want, res.StatusCode, "%s: %s", name, raw)
	}
	_, res, err := websocket.Dial(t.Context(), s.url+"/v1/runners/"+runnerID("x")+"/tunnel", &websocket.DialOptions{
		Host: "192.0.2.1:7171", HTTPHeader: http.Header{headerClaim: {"x"}}})
	require.Error(t, err)
	require.Equal(t, 401, res.StatusCode, "a runner needs it too")
}

// Only who knows the secret can be the runner of that id, loopback or not.
func TestAClaimToARunnersIDIsProven(t *testing.T) {
	s := newSite(t)
	r := s.runner("the real secret")
	for name, c := range map[string]struct {
		id, secret string
	}{
		"no secret":      {r.id(), ""},
		"blank secret":   {r.id(), "   "},
		"wrong secret":   {r.id(), "another secret"},
		"id of no shape": {"runner_mine", "the real secret"},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{"Origin": {originInternal}}
			if c.secret != "" {
				header.Set(headerClaim, c.secret)
			}
			ws, res, err := websocket.Dial(t.Context(), s.url+"/v1/runners/"+c.id+"/tunnel", &websocket.DialOptions{HTTPHeader: header})
			require.NoError(t, err)
			require.Equal(t, 101, res.StatusCode)
			_, _, err = ws.Read(t.Context())
			require.Equal(t, websocket.StatusCode(4004), websocket.CloseStatus(err))
			require.ErrorContains(t, err, "runner_id does not match tunnel token")
		})
	}
	require.True(t, s.ok(200, "GET", "/v1/runners/"+r.id()+"/status", nil)["online"].(bool), "the real one stays")

	_, res, err := websocket.Dial(t.Context(), s.url+"/v1/runners/"+r.id()+"/tunnel", &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"https://evil.example"}, headerClaim: {r.secret}}})
	require.Error(t, err)
	require.Equal(t, 403, res.StatusCode, "a page cannot open a tunnel")
}

func TestBodiesAreBounded(t *testing.T) {
	s := newSite(t)
	session := s.session()
	big := strings.Repeat("x", maxEventsBody)
	res, _ := s.raw("POST", "/v1/sessions/"+session+"/events", message(big), nil)
	require.Equal(t, 413, res.StatusCode)
	res, _ = s.raw("PATCH", "/v1/sessions/"+session, map[string]any{"title": strings.Repeat("x", maxBody)}, nil)
	require.Equal(t, 413, res.StatusCode)

	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("bundle", "b.tgz")
	require.NoError(t, err)
	_, err = part.Write(make([]byte, maxBundle))
	require.NoError(t, err)
	require.NoError(t, form.Close())
	res, _ = s.raw("POST", "/v1/sessions", b.String(), map[string]string{"Content-Type": form.FormDataContentType()})
	require.Equal(t, 413, res.StatusCode)
}
