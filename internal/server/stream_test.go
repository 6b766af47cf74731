package server

import (
	"database/sql"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/server/store"
)

// told makes n stored events in a session.
func (s *site) told(session string, from, n int) {
	s.t.Helper()
	for i := from; i < from+n; i++ {
		s.external(session, "resp_1", fmt.Sprint("t:", i), fmt.Sprint("text ", i))
	}
}

func TestAStreamGoesOnByNumber(t *testing.T) {
	s := newSite(t)
	session := s.session()
	v := s.watch(session, "")
	require.Equal(t, "0", v.header.Get("X-Outrunner-Event-Id"))
	require.Equal(t, "text/event-stream", v.header.Get("Content-Type"))
	require.Equal(t, "no-cache", v.header.Get("Cache-Control"))
	require.NotEmpty(t, v.header.Get("X-Omnigent-Stream-Epoch"))
	s.told(session, 0, 3)
	for n := range 3 {
		require.Equal(t, fmt.Sprint(n+1), v.next().id)
	}
	v.close()
	s.told(session, 3, 2)

	again := s.watch(session, "2")
	require.Empty(t, again.header.Get("X-Outrunner-Resync"))
	require.Equal(t, "5", again.header.Get("X-Outrunner-Event-Id"))
	for n := 3; n <= 5; n++ {
		e := again.next()
		require.Equal(t, fmt.Sprint(n), e.id)
		text := e.data["item"].(map[string]any)["content"].([]any)[0].(map[string]any)["text"]
		require.Equal(t, fmt.Sprint("text ", n-1), text)
	}
	s.told(session, 5, 1)
	require.Equal(t, "6", again.next().id, "live events follow the replayed ones")

	s.restart()
	<-again.done
	require.False(t, again.marked, "a stopping server never sends [DONE]")
	after := s.watch(session, "4")
	require.NotEqual(t, v.header.Get("X-Omnigent-Stream-Epoch"), after.header.Get("X-Omnigent-Stream-Epoch"))
	require.Equal(t, "5", after.next().id, "numbers hold over a restart")
	require.Equal(t, "6", after.next().id)
	s.told(session, 6, 1)
	require.Equal(t, "7", after.next().id)
}

// A long absence is replayed in pages, without a hole and without a double.
func TestALongReplay(t *testing.T) {
	s := newSite(t)
	session := s.session()
	const n = 2*replayPage + 7
	require.NoError(t, s.srv.db.Write(t.Context(), func(tx *store.Tx) error {
		for range n {
			if err := tx.Emit(session, "session.todos", dict{}); err != nil {
				return err
			}
		}
		return nil
	}))
	v := s.watch(session, "1")
	for i := 2; i <= n; i++ {
		require.Equal(t, fmt.Sprint(i), v.next().id)
	}
	s.told(session, 0, 1)
	require.Equal(t, fmt.Sprint(n+1), v.next().id)
}

// A change of which the events were not handed over, since its commit seemed to
// fail, ends the streams: their clients go on by number.
func TestARowThatNobodySaw(t *testing.T) {
	s := newSite(t)
	session := s.session()
	v := s.watch(session, "")
	db, err := sql.Open("sqlite", filepath.Join(s.cfg.Dir, "server.db"))
	require.NoError(t, err)
	for _, stmt := range []string{"UPDATE sessions SET last_seq = 1", "INSERT INTO events VALUES ('" + session + "', 1, 'session.todos', '{}')"} {
		_, err = db.Exec(stmt)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	s.told(session, 0, 1)
	<-v.done
	require.False(t, v.marked)
	again := s.watch(session, "0")
	require.Equal(t, "1", again.next().id)
	require.Equal(t, "2", again.next().id)
}

func TestAStreamThatCannotGoOn(t *testing.T) {
	s := newSite(t)
	session := s.session()
	s.told(session, 0, 2)
	for _, id := range []string{"3", "99", "-1", "abc", "1.5", "99999999999999999999"} {
		v := s.watch(session, id)
		require.Equal(t, "1", v.header.Get("X-Outrunner-Resync"), id)
		require.Equal(t, "2", v.header.Get("X-Outrunner-Event-Id"))
		v.close()
	}
	v := s.watch(session, "2")
	require.Empty(t, v.header.Get("X-Outrunner-Resync"), "the newest is no gap")
	s.told(session, 2, 1)
	require.Equal(t, "3", v.next().id)

	res, raw := s.raw("GET", "/v1/sessions/0123456789abcdef0123456789abcdef/stream", nil, nil)
	require.Equal(t, 404, res.StatusCode, string(raw))
}

// A viewer that comes in the middle of a message gets its text so far as one
// delta; text that is stored, or has a hole, is not offered.
func TestAViewerInTheMiddle(t *testing.T) {
	s, r, session, _ := started(t)
	first := s.watch(session, "")
	r.say(session, response("in_progress", "resp_1", nil), preview("t:1", 0, "one "), preview("t:1", 1, "two "),
		preview("t:2", 0, "a"), preview("t:3", 1, "its begin is missing"), preview("t:4", 0, "x"), preview("t:4", 2, "y"), plain("plain <&>"))
	for range 8 {
		first.next()
	}
	v := s.watch(session, "")
	for _, want := range []struct {
		message any
		index   any
		text    string
	}{{"t:1", 1.0, "one two "}, {"t:2", 0.0, "a"}, {nil, nil, "plain <&>"}} {
		d := v.next()
		require.Equal(t, "response.output_text.delta", d.typ)
		require.Equal(t, want.message, d.data["message_id"])
		require.Equal(t, want.index, d.data["index"])
		require.Equal(t, want.text, d.data["delta"])
	}
	r.say(session, preview("t:1", 2, "three"))
	require.Equal(t, "three", v.next().data["delta"], "and goes on live")
	s.external(session, "resp_1", "t:1", "one two three")
	v.until("response.output_item.done")
	late := s.watch(session, "")
	require.Equal(t, "t:2", late.next().data["message_id"], "a stored message is not offered again")
	r.say(session, response("completed", "resp_1", nil))
	v.until("response.completed")
	end := s.watch(session, "")
	s.told(session, 9, 1)
	require.Equal(t, "response.output_item.done", end.next().typ, "after the end nothing is unfinished")
}

// A viewer that does not read is cut alone; who reads misses nothing.
func TestASlowViewerIsCutAlone(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Timing.ViewerWrite = 300 * time.Millisecond })
	session := s.session()
	v := s.watch(session, "")
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(16<<10))
	_, err = fmt.Fprintf(conn, "GET /v1/sessions/%s/stream HTTP/1.1\r\nHost: %s\r\n\r\n", session, s.addr)
	require.NoError(t, err)
	s.eventually("both watch", func() bool { return s.viewers(session) == 2 })
	text := strings.Repeat("x", 2000)
	pieces := 0
	for ; s.viewers(session) == 2; pieces++ {
		s.srv.hub.preview(session, delta{Type: typeTextDelta, Delta: text})
		require.Equal(t, text, v.next().data["delta"])
		require.Less(t, pieces, 100_000, "the slow viewer holds on without bound")
	}
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	got, err := io.ReadAll(conn)
	require.NoError(t, err, "its stream ends by itself")
	require.Less(t, len(got), pieces*len(text))
	require.NotContains(t, string(got), "[DONE]")
	s.told(session, 0, 1)
	require.Equal(t, "1", v.next().id)
}

func (s *site) viewers(session string) int {
	s.srv.hub.mu.Lock()
	defer s.srv.hub.mu.Unlock()
	if r := s.srv.hub.rooms[session]; r != nil {
		return len(r.viewers)
	}
	return 0
}

func TestAQuietStreamBeats(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Timing.Heartbeat = 20 * time.Millisecond })
	v := s.watch(s.session(), "")
	for range 3 {
		e := v.next()
		require.Equal(t, "session.heartbeat", e.typ)
		require.Empty(t, e.id)
	}
}

func TestADeletedSessionEndsItsStreams(t *testing.T) {
	s, r, session, _ := started(t)
	r.say(session, status(session, "running"))
	s.status(session, "running")
	child := s.session(map[string]any{"parent_session_id": session})
	v, w := s.watch(session, ""), s.watch(child, "")
	out := s.ok(200, "DELETE", "/v1/sessions/"+session, nil)
	require.Equal(t, map[string]any{"id": session, "object": "conversation.deleted", "deleted": true}, out)
	<-v.done
	<-w.done
	require.True(t, v.marked)
	require.True(t, w.marked)
	require.Len(t, r.requests(session, "stop_session"), 1)
	require.Empty(t, r.requests(child, "stop_session"), "it does not run")
	all := r.requests(session, "")
	require.Equal(t, "DELETE", all[len(all)-1].method)
	require.Equal(t, "/v1/sessions/"+session, all[len(all)-1].path)
	s.ok(404, "DELETE", "/v1/sessions/"+session, nil)
	s.ok(404, "GET", "/v1/sessions/"+child, nil)
	require.Zero(t, s.viewers(session))
	r.say(session, status(session, "idle")) // nobody listens, nobody breaks
	next := s.session()
	s.send(next, "x")
	r.await(s, next, "message", 1)
}

// While a stop waits for nothing but viewers, they are let go at once.
func TestViewersDoNotHoldUpAStop(t *testing.T) {
	s := newSite(t)
	session := s.session()
	var all []*viewing
	for range 5 {
		all = append(all, s.watch(session, ""))
	}
	s.stop()
	for _, v := range all {
		<-v.done
		require.False(t, v.marked)
	}
	s.start()
	s.ok(200, "GET", "/health", nil)
}
