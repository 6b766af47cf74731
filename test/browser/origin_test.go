package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// attack tries from another page what would run commands, and says how it went.
const attack = `async (server, session, terminal) => {
	const body = JSON.stringify({type: 'message', data: {role: 'user', content: [{type: 'input_text', text: 'touch hit'}]}});
	const send = (mode, type) => fetch(server + '/v1/sessions/' + session + '/events',
		{method: 'POST', mode, headers: {'Content-Type': type}, body, credentials: 'include'}).then(r => 'answered ' + r.type, () => 'failed');
	const socket = path => new Promise(done => {
		const s = new WebSocket(server.replace('http', 'ws') + path);
		s.onopen = () => { s.send('{"type":"resize","cols":80,"rows":24}'); s.send(new TextEncoder().encode('touch hit\r')); done('open'); };
		s.onerror = () => done('failed');
	});
	return [await send('no-cors', 'text/plain'), await send('cors', 'application/json'),
		await socket('/v1/sessions/' + session + '/resources/terminals/' + terminal + '/attach?read_only=false'),
		await socket('/v1/sessions/updates'),
		await fetch(server + '/v1/sessions').then(r => 'read', () => 'failed')];
}`

// A page of another origin can neither write, nor listen, nor read.
func TestAHostilePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	session := w.NewSession("helper")
	r := w.opens(session, "sh")
	evil := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte("<title>evil</title>"))
	}))
	t.Cleanup(evil.Close)
	p := open(t, evil.URL, "/", desk)
	p.also(w.URL)
	got := value[[]string](p, fmt.Sprintf("(%s)(%q, %q, %q)", attack, w.URL, session, r.ID))
	require.Equal(t, []string{"failed", "failed", "failed", "failed", "failed"}, got)
	for _, path := range []string{"/v1/sessions/" + session + "/events", "/v1/sessions"} {
		testkit.Until(t, testkit.Patience, func() bool { return p.status(w.URL+path) == http.StatusForbidden }, testkit.Is(path+" is not forbidden"))
	}
	ws := "ws" + w.URL[len("http"):]
	for _, path := range []string{"/v1/sessions/" + session + "/resources/terminals/" + r.ID + "/attach?read_only=false", "/v1/sessions/updates"} {
		said := "'" + ws + path + "' failed: Error during WebSocket handshake: Unexpected response code: 403"
		testkit.Until(t, testkit.Patience, func() bool { return p.said(said) }, testkit.Is(path+" is not forbidden"))
	}
	// Our own page can, by the same words: they are not refused for what they are.
	mine := open(t, w.URL, "/", desk)
	got = value[[]string](mine, fmt.Sprintf("(%s)(%q, %q, %q)", attack, w.URL, session, r.ID))
	require.Equal(t, []string{"answered basic", "open", "open", "read"}, got[1:])
	testkit.Until(t, testkit.Patience, func() bool { return w.exists("hit") }, testkit.Is("our own page can do nothing either"))
	items, err := w.Items(session)
	require.NoError(t, err)
	var said []string
	for _, i := range items {
		if i.Role == "user" {
			said = append(said, i.Text())
		}
	}
	require.Equal(t, []string{"touch hit"}, said, "of our own page's messages the JSON one alone counts")
}
