package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// listening is a client of the updates.
type listening struct{ dialing }

func (s *site) listens() *listening {
	s.t.Helper()
	ws, _, err := websocket.Dial(s.t.Context(), s.url+"/v1/sessions/updates", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {s.url}}})
	require.NoError(s.t, err)
	ws.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = ws.CloseNow() })
	return &listening{dialing{s.t, ws}}
}

func (l *listening) watches(ids ...string) {
	l.t.Helper()
	b, err := json.Marshal(map[string]any{"type": "watch", "session_ids": ids})
	require.NoError(l.t, err)
	l.send(websocket.MessageText, string(b))
}

// hears waits for a message of that type.
func (l *listening) hears(typ string) map[string]any {
	l.t.Helper()
	_, raw := l.next()
	out := map[string]any{}
	require.NoError(l.t, json.Unmarshal([]byte(raw), &out))
	require.Equal(l.t, typ, out["type"], raw)
	return out
}

// rows are the items of a message by their ids.
func rows(message map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, i := range message["items"].([]any) {
		row := i.(map[string]any)
		out[row["id"].(string)] = row
	}
	return out
}

// until waits until a row of a session is as it should be.
func (l *listening) until(id string, is func(map[string]any) bool) {
	l.t.Helper()
	for {
		if row := rows(l.hears("changed"))[id]; row != nil && is(row) {
			return
		}
	}
}

func quickly(c *Config) { c.Timing.UpdatesGather = time.Millisecond }

func TestUpdates(t *testing.T) {
	s, r, session, _ := started(t, quickly)
	other, unwatched := s.session(), s.session()
	l := s.listens()
	const unknown = "0123456789abcdef0123456789abcdef"
	l.watches(session, other, unknown, "malformed", "conv_"+session)
	first := rows(l.hears("snapshot"))
	require.Len(t, first, 2)
	require.Equal(t, "idle", first[session]["status"])
	require.Equal(t, true, first[session]["runner_online"])
	require.Nil(t, first[session]["host_online"])
	require.Equal(t, []any{unknown}, l.hears("removed")["ids"], "one that is not there is gone")

	s.ok(200, "PATCH", "/v1/sessions/"+unwatched, map[string]any{"title": "nobody looks"})
	r.say(session, status(session, "running"))
	l.until(session, func(row map[string]any) bool { return row["status"] == "running" })
	s.ok(200, "PATCH", "/v1/sessions/"+other, map[string]any{"title": "renamed", "labels": map[string]string{"a": "b"}})
	l.until(other, func(row map[string]any) bool {
		return row["title"] == "renamed" && row["labels"].(map[string]any)["a"] == "b"
	})
	s.ok(204, "PUT", "/v1/sessions/"+other+"/read-state", map[string]any{"last_seen": 5, "unread": true})

	fresh := s.session()
	l.until(fresh, func(map[string]any) bool { return true })
	r.say(session, question("e1", "May I?"))
	l.until(session, func(row map[string]any) bool { return row["pending_elicitations_count"] == 1.0 })
	r.disconnect()
	l.until(session, func(row map[string]any) bool { return row["runner_online"] == false })
	s.ok(200, "DELETE", "/v1/sessions/"+other, nil)
	require.Equal(t, []any{other}, l.removed())

	l.watches()
	require.Empty(t, l.hears("snapshot")["items"])
	require.NoError(t, l.Close(websocket.StatusNormalClosure, ""))
	s.eventually("it is let go", func() bool {
		s.srv.watchers.mu.Lock()
		defer s.srv.watchers.mu.Unlock()
		return len(s.srv.watchers.all) == 0
	})
}

// removed waits for what is gone.
func (l *listening) removed() []any {
	l.t.Helper()
	for {
		_, raw := l.next()
		out := map[string]any{}
		require.NoError(l.t, json.Unmarshal([]byte(raw), &out))
		if out["type"] == "removed" {
			return out["ids"].([]any)
		}
	}
}

// What changes nothing that a list shows is told to nobody, nonsense is not
// answered, and silence is filled with beats.
func TestQuietUpdates(t *testing.T) {
	s := newSite(t, quickly, func(c *Config) { c.Timing.SocketPing = time.Second })
	session := s.session()
	l := s.listens()
	for _, nonsense := range []string{"", "[]", `{"type":"dance"}`, `{"type":"watch","session_ids":7}`} {
		l.send(websocket.MessageText, nonsense)
	}
	l.send(websocket.MessageBinary, `{"type":"watch","session_ids":["`+session+`"]}`)
	l.watches(session)
	l.hears("snapshot")
	s.srv.watchers.runners() // a runner came: the rows stay the same
	l.hears("heartbeat")
	many := make([]string, maxWatched+5)
	for n := range many {
		many[n] = strings.Repeat("a", 32)
	}
	many[0] = session
	l.watches(many...)
	for {
		_, raw := l.next()
		if strings.Contains(raw, `"snapshot"`) {
			require.Contains(t, raw, session)
			break
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, l.Write(ctx, websocket.MessageText, []byte(`{"type":"`+strings.Repeat("x", maxWatch)+`"}`)))
	require.Equal(t, websocket.StatusMessageTooBig, l.closed().Code)
}

func TestAStopEndsUpdates(t *testing.T) {
	s := newSite(t)
	session := s.session()
	l := s.listens()
	l.watches(session)
	l.hears("snapshot")
	go func() { // a browser answers a close
		_, _, _ = l.Read(context.Background())
	}()
	s.stop()
}
