package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestTurnIsTold(t *testing.T) {
	w := newWorld(t).start()
	e := w.warm("S")
	w.send("S", "u1", "say hello")
	require.Equal(t, []string{
		"session.status running", "response.in_progress", "response.output_text.delta",
		"response.completed", "session.status idle",
	}, e.until("session.status idle"))
	_, texts := w.server.texts()
	require.Equal(t, []string{"warm", "hello"}, texts)
}

// The previews of a message are its stored text, in order, and a long output
// is cut at line borders.
func TestPreviewsAndSegmentsAgree(t *testing.T) {
	w := newWorld(t)
	var want strings.Builder
	w.harness.program["flood"] = func(_ context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
		for n := range 4000 {
			line := fmt.Sprintf("line %d é🙂\n", n)
			want.WriteString(line)
			half := len(line) / 3
			for _, piece := range []string{line[:half], line[half:]} {
				if err := emit(wire.HarnessEvent{Type: wire.TextDelta, Delta: piece}); err != nil {
					return failed("x", err.Error())
				}
			}
		}
		return wire.TurnEnd{Outcome: wire.Completed}
	}
	w.start()
	e := w.stream("S")
	w.send("S", "u1", "flood")

	previews := map[string]string{}
	indexes := map[string]int{}
	for {
		ev := e.next()
		if ev["type"] == "response.completed" {
			require.Equal(t, []any{"u1"}, ev["input_item_ids"])
			break
		}
		if ev["type"] != wire.TextDelta {
			continue
		}
		id := ev["message_id"].(string)
		require.EqualValues(t, indexes[id], ev["index"], "the deltas of a message are counted without a gap")
		indexes[id]++
		previews[id] += ev["delta"].(string)
	}
	ids, texts := w.server.texts()
	require.Greater(t, len(ids), 3)
	require.Equal(t, want.String(), strings.Join(texts, ""))
	for n, id := range ids {
		require.Equal(t, texts[n], previews[id])
		require.True(t, strings.HasSuffix(id, fmt.Sprint(":", n)))
		require.True(t, strings.HasSuffix(texts[n], "\n"), "cut at a line border")
		require.LessOrEqual(t, len(texts[n]), segmentMax)
	}
}

func TestOneEndlessLineIsCutAllTheSame(t *testing.T) {
	w := newWorld(t)
	line := strings.Repeat("x", 1000)
	w.harness.program["long"] = func(_ context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
		for range 200 {
			if err := emit(wire.HarnessEvent{Type: wire.TextDelta, Delta: line}); err != nil {
				return failed("x", err.Error())
			}
		}
		return wire.TurnEnd{Outcome: wire.Completed}
	}
	w.start()
	e := w.stream("S")
	w.send("S", "u1", "long")
	e.until("response.completed")
	_, texts := w.server.texts()
	require.Equal(t, strings.Repeat(line, 200), strings.Join(texts, ""))
	for _, text := range texts {
		require.LessOrEqual(t, len(text), segmentMax+len(line))
	}
}

// A line is stored when it is old enough, though the program says no more.
func TestSilentProgramHasItsLinesStored(t *testing.T) {
	w := newWorld(t)
	w.timing.SegmentAge = 20 * time.Millisecond
	release := make(chan struct{})
	w.harness.program["wait"] = func(_ context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
		err := emit(wire.HarnessEvent{Type: wire.TextDelta, Delta: "ready\n"})
		<-release
		if err != nil {
			return failed("x", err.Error())
		}
		return wire.TurnEnd{Outcome: wire.Completed}
	}
	w.start()
	w.send("S", "u1", "wait")
	require.Eventually(t, func() bool { _, texts := w.server.texts(); return len(texts) == 1 }, patience, time.Millisecond)
	close(release)
}

func TestEndWaitsForTheOutbox(t *testing.T) {
	w := newWorld(t)
	var down atomic.Bool
	down.Store(true)
	w.server.failing(func(call string) error {
		if call == "store" && down.Load() {
			return errDown
		}
		return nil
	})
	w.start()
	e := w.stream("S")
	w.send("S", "u1", "say one")
	w.send("S", "u2", "say two")
	e.until("response.output_text.delta")
	status, body := w.do("GET", "/v1/sessions/S", "")
	require.Equal(t, 200, status)
	require.Contains(t, body, `"status":"running"`)
	down.Store(false)
	e.until("response.completed")
	e.until("response.completed")
	_, texts := w.server.texts()
	require.Equal(t, []string{"one", "two"}, texts)
}

func TestMessageThatStreamsItsOwnTurn(t *testing.T) {
	w := newWorld(t).start()
	status, body := w.do("POST", "/v1/sessions/S/events?stream=true", `{"type":"message","content":"say hi","agent_id":"a1"}`)
	require.Equal(t, 200, status)
	var types []string
	for _, line := range strings.Split(body, "\n") {
		if typ, ok := strings.CutPrefix(line, "event: "); ok {
			types = append(types, typ)
		}
	}
	require.Equal(t, []string{"response.in_progress", "response.output_text.delta", "response.completed"}, types)
	require.NotContains(t, body, "[DONE]")

	w.do("DELETE", "/v1/sessions/S", "")
	w.server.failing(func(call string) error {
		if call == "snapshot" {
			return errDown
		}
		return nil
	})
	status, body = w.do("POST", "/v1/sessions/S/events?stream=true", `{"type":"message","content":"say hi","agent_id":"a1"}`)
	require.Equal(t, 200, status)
	require.Contains(t, body, "identity_unknown")
}

func TestNewestStreamIsTheOnlyOne(t *testing.T) {
	w := newWorld(t).start()
	first := w.warm("S")
	second := w.stream("S")
	second.until("session.status idle")
	first.until("EOF")
	w.send("S", "u1", "say x")
	second.until("response.completed")
}

func TestHeartbeats(t *testing.T) {
	w := newWorld(t)
	w.timing.Heartbeat = 5 * time.Millisecond
	w.start()
	e := w.stream("S")
	for range 3 {
		e.until("session.heartbeat")
	}
}

func TestInterruptAnswersWhenTheTurnHasEnded(t *testing.T) {
	w := newWorld(t).start()
	e := w.warm("S")
	w.send("S", "u1", "hang")
	e.until("response.in_progress")
	status, _ := w.do("POST", "/v1/sessions/S/events", `{"type":"interrupt"}`)
	require.Equal(t, 204, status)
	require.Equal(t, []string{"response.cancelled", "session.status idle"}, e.until("session.status idle"))
}

func TestDeleteEndsTheStreamWithTheDoneMarker(t *testing.T) {
	w := newWorld(t).start()
	e := w.stream("S")
	w.send("S", "u1", "hang")
	e.until("response.in_progress")
	status, body := w.do("DELETE", "/v1/sessions/S", "")
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"session_id":"S","object":"session.deleted","deleted":true}`, body)
	e.until("[DONE]")
	status, _ = w.do("GET", "/v1/sessions/S", "")
	require.Equal(t, 404, status)
}

// A program that writes more than the outbox holds, while the server takes
// nothing, waits; its session can be deleted all the same.
func TestDeleteOfAProgramThatWaitsForTheServer(t *testing.T) {
	w := newWorld(t)
	w.server.failing(func(call string) error {
		if call == "store" {
			return errDown
		}
		return nil
	})
	line := strings.Repeat("x", segmentMax)
	const outboxHolds = 4<<20/segmentMax - 2 // pieces; the next but one waits
	waiting := make(chan struct{})
	w.harness.program["flood"] = func(ctx context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
		for n := 0; ; n++ {
			if n == outboxHolds {
				close(waiting)
			}
			if err := emit(wire.HarnessEvent{Type: wire.TextDelta, Delta: line}); err != nil {
				return wire.TurnEnd{Outcome: wire.Cancelled}
			}
		}
	}
	w.start()
	w.send("S", "u1", "flood")
	<-waiting
	status, _ := w.do("DELETE", "/v1/sessions/S", "")
	require.Equal(t, 200, status)
}

func TestPanicInATurnIsItsFailure(t *testing.T) {
	w := newWorld(t).start()
	e := w.stream("S")
	w.send("S", "u1", "panic")
	e.until("response.failed")
	e.until("session.status failed")
	w.send("S", "u2", "say still here")
	e.until("response.completed")
}

// A turn that the end of the process cuts is settled by the next one, after it
// has read the session; its command is not run again, and what waited is.
func TestRestartSettlesTheOpenTurn(t *testing.T) {
	w := newWorld(t).start()
	e := w.stream("S")
	w.send("S", "u1", "hang")
	w.send("S", "u2", "say next")
	e.until("response.in_progress")
	w.stop()

	w.harness = newFakeHarness()
	w.start()
	e = w.stream("S")
	e.until("response.in_progress")
	require.Empty(t, w.harness.starts(), "nothing runs before the session was read")
	w.connect(1)
	failed := e.until("response.failed")
	require.NotContains(t, failed, "response.output_text.delta")
	e.until("response.completed")
	require.Equal(t, []string{"say next"}, w.harness.starts())
}

// A stop journals what the program wrote last, and the next start has it stored.
func TestStopKeepsTheLastText(t *testing.T) {
	w := newWorld(t)
	w.harness.program["talk"] = func(ctx context.Context, emit func(wire.HarnessEvent) error) wire.TurnEnd {
		if err := emit(wire.HarnessEvent{Type: wire.TextDelta, Delta: "half a li"}); err != nil {
			return failed("x", err.Error())
		}
		<-ctx.Done()
		return wire.TurnEnd{Outcome: wire.Cancelled}
	}
	w.start()
	e := w.stream("S")
	w.send("S", "u1", "talk")
	e.until("response.output_text.delta")
	w.server.failing(func(string) error { return errDown })
	w.stop()
	w.server.failing(nil)
	w.start()
	require.Eventually(t, func() bool {
		_, texts := w.server.texts()
		return len(texts) == 1 && texts[0] == "half a li"
	}, patience, time.Millisecond)
}

func TestCatchUpRunsWhatWasMissedOnce(t *testing.T) {
	w := newWorld(t).start()
	e := w.stream("S")
	w.send("S", "u1", "say one")
	e.until("response.completed")
	w.server.mu.Lock()
	for _, id := range []string{"u1", "u2", "u3"} {
		w.server.items["S"] = append(w.server.items["S"], wire.Item{
			ID: id, Type: "message", Role: "user", Content: []byte(`"say ` + id + `"`),
		})
	}
	w.server.mu.Unlock()
	for gen := range uint64(3) {
		off := w.connect(gen + 1)
		if gen == 0 {
			e.until("response.completed")
			e.until("response.completed")
		}
		off()
	}
	w.send("S", "u2", "say u2")
	require.Equal(t, []string{"say one", "say u2", "say u3"}, w.harness.starts())
}

// brokenJournal takes nothing while broken.
type brokenJournal struct {
	MemoryJournal
	mu     sync.Mutex
	broken bool
}

func (j *brokenJournal) set(broken bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = broken
}

func (j *brokenJournal) Commit(records []wire.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken {
		return errors.New("database or disk is full")
	}
	return j.MemoryJournal.Commit(records)
}

// A full disk refuses messages with a sentence, runs nothing, and loses
// nothing when there is room again.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	j := &brokenJournal{}
	w.journal = j
	w.timing.Request = 50 * time.Millisecond
	w.start()
	e := w.stream("S")
	j.set(true)
	const msg = `{"type":"message","content":"say x","persisted_item_id":"u1","agent_id":"a1"}`
	status, body := w.do("POST", "/v1/sessions/S/events", msg)
	require.Equal(t, 503, status)
	require.Contains(t, body, "journal_unavailable")
	require.Contains(t, body, "disk is full")
	status, body = w.do("GET", "/health", "")
	require.Equal(t, 503, status)
	require.Contains(t, body, "journal_unavailable")
	require.Empty(t, w.harness.starts())

	j.set(false)
	require.Eventually(t, func() bool { status, _ := w.do("GET", "/health", ""); return status == 200 }, patience, 5*time.Millisecond)
	status, _ = w.do("POST", "/v1/sessions/S/events", msg)
	require.Equal(t, 202, status)
	e.until("response.completed")
	require.Equal(t, []string{"say x"}, w.harness.starts())
}

// Many sessions and messages at once: each message is run once, in the order
// of its session.
func TestManySessionsAtOnce(t *testing.T) {
	w := newWorld(t).start()
	const sessions, messages = 20, 10
	var wg sync.WaitGroup
	for s := range sessions {
		wg.Go(func() {
			for m := range messages {
				w.send(fmt.Sprint("S", s), fmt.Sprintf("u%d-%d", s, m), fmt.Sprintf("say %d-%d", s, m))
			}
		})
	}
	wg.Wait()
	require.Eventually(t, func() bool { return len(w.harness.starts()) == sessions*messages }, patience, time.Millisecond)
	last := map[string]int{}
	for _, text := range w.harness.starts() {
		var s string
		var m int
		_, err := fmt.Sscanf(strings.Replace(text, "-", " ", 1), "say %s %d", &s, &m)
		require.NoError(t, err)
		require.Equal(t, last[s], m)
		last[s]++
	}
}

func TestReaderThatDoesNotReadIsBounded(t *testing.T) {
	r := newReader()
	big := make([]byte, 64<<10)
	for range 100 {
		r.put(frame{data: big, preview: true})
	}
	frames, end := r.take()
	require.Equal(t, endNone, end)
	require.LessOrEqual(t, len(frames)*len(big), outletDeltas+2*len(big))
	require.Equal(t, 100-len(frames), r.dropped)
	for range 200 {
		r.put(frame{data: big})
	}
	frames, end = r.take()
	require.Equal(t, endCut, end, "what must arrive is not dropped: the reader is cut and told anew")
	require.LessOrEqual(t, len(frames)*len(big), outletFull+2*len(big))
}

func TestEndpoints(t *testing.T) {
	w := newWorld(t).start()
	w.send("S", "u1", "say x")
	page := `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // JSON, or a part of the text
	}{
		{"GET", "/health", "", 200, `{"status":"ok"}`},
		{"GET", "/v1/nothing", "", 404, `{"detail":"Not Found"}`},
		{"PUT", "/v1/sessions/S", "", 405, `{"detail":"Method Not Allowed"}`},
		{"GET", "/v1/sessions/none", "", 404, `not_found`},
		{"GET", "/v1/sessions/S/resources", "", 200, page},
		{"GET", "/v1/sessions/S/resources/terminals/terminal_a_b", "", 404, `{"error":{"code":"not_found","message":"Terminal 'terminal_a_b' not found"}}`},
		{"DELETE", "/v1/sessions/S/resources/terminals/terminal_a_b", "", 404, `"error":{"code":"not_found"`},
		{"POST", "/v1/sessions/S/resources/terminals/terminal_a_b/transfer", `{"target_session_id":"T"}`, 404, `"error":{"code":"not_found"`},
		{"GET", "/v1/sessions/S/resources/terminals?order=asc&limit=1000", "", 200, page},
		{"GET", "/v1/sessions/S/resources?order=up", "", 422, `string_pattern_mismatch`},
		{"GET", "/v1/sessions/S/models", "", 200, `{"workers":{}}`},
		{"GET", "/v1/sessions/S/model-options", "", 200, `{"models":[]}`},
		{"GET", "/v1/sessions/S/claude-model-options", "", 200, `{"models":[]}`},
		{"POST", "/v1/sessions/S/resources/terminals", `{}`, 412, `{"error":{"code":"harness_not_configured","message":"This runner has no terminals."}}`},
		{"GET", "/v1/sessions/S/sign-in-link", "", 200, `{"pending":false,"url":null,"code":null}`},
		{"POST", "/v1/sessions/S/background-title", `{}`, 200, `{"status":"unsupported","title":null}`},
		{"POST", "/v1/sessions/S/events", `{"type":"interrupt"}`, 204, ``},
		{"POST", "/v1/sessions/S/events", `{"type":"stop_session"}`, 204, ``},
		{"POST", "/v1/sessions/S/events", `{"type":"never_heard_of"}`, 204, ``},
		{"POST", "/v1/sessions/S/events", `{"type":"effort_change","effort":"high"}`, 204, ``},
		{"POST", "/v1/sessions/S/events", `{"type":"effort_change","effort":1}`, 400, `invalid_input`},
		{"POST", "/v1/sessions/S/events", `{"type":7}`, 400, `invalid_request`},
		{"POST", "/v1/sessions/S/events", `[]`, 400, `invalid_request`},
		{"POST", "/v1/sessions/S/events", `{`, 400, `{"error":{"code":"invalid_input","message":"The request body is not valid JSON."}}`},
		{"POST", "/v1/sessions/N/events", `{"content":null,"agent_id":"a1","persisted_item_id":"n1"}`, 202, `accepted`},
		{"POST", "/v1/sessions/S/reset-state", ``, 200, `{"session_id":"S","object":"session.state_reset","reset":true}`},
		{"POST", "/v1/sessions/S/agent-cache/reset", `{"agent_id":"a9"}`, 200, `{"session_id":"S","agent_id":"a9","object":"session.agent_cache_reset","reset":true}`},
		{"POST", "/v1/sessions/S/agent-cache/reset", `not json`, 200, `{"session_id":"S","agent_id":null,"object":"session.agent_cache_reset","reset":true}`},
		{"DELETE", "/v1/sessions/S/resources", ``, 200, `{"session_id":"S","object":"session.resources.cleaned","cleaned":true}`},
		{"DELETE", "/v1/sessions/none", ``, 200, `{"session_id":"none","object":"session.deleted","deleted":true}`},
		{"POST", "/v1/sessions", `{"session_id":"S"}`, 400, `agent_id`},
		{"POST", "/v1/sessions", `{"session_id":"","agent_id":"a"}`, 400, `session_id`},
		{"POST", "/v1/sessions", `{"session_id":"I","agent_id":"a1"}`, 201, `"session_init_protocol_version":null`},
		{"POST", "/v1/sessions", initBody("I", "a1", `{}`), 201, `"session_init_protocol_version":2,"terminal_ready":null,"inference_config_verified":true`},
		{"POST", "/v1/sessions", initBody("I", "a2", `{}`), 400, `another session or agent`},
		{"POST", "/v1/sessions", strings.Replace(initBody("I", "a1", `{}`), `"sub_agent_name":null`, `"sub_agent_name":"worker"`, 1), 400, `another session or agent`},
		{"POST", "/v1/sessions", strings.Replace(initBody("I", "a1", `{}`), `{"session_id":"I"`, `{"session_id":"J"`, 1), 400, `another session or agent`},
		{"POST", "/v1/sessions", initBody("I", "a1", `{"inference_config":{"providers":{"p":{}}}}`), 409, `inference_config_mismatch`},
		{"POST", "/v1/sessions", initBody("I", "a1", `{"created_at":"soon"}`), 400, `invalid_request`},
		{"POST", "/v1/sessions", `{"session_id":"I","agent_id":"a1","session_init":{"protocol_version":3}}`, 201, `null`},
	} {
		status, body := w.do(c.method, c.path, c.body)
		require.Equal(t, c.status, status, "%s %s %s: %s", c.method, c.path, c.body, body)
		if strings.HasPrefix(c.want, "{") {
			require.JSONEq(t, c.want, body)
		} else {
			require.Contains(t, body, c.want)
		}
	}
}

func initBody(session, agent, snapshot string) string {
	return fmt.Sprintf(`{"session_id":%q,"agent_id":"a1","session_init":{"protocol_version":2,"session_id":%q,"agent_id":%q,"sub_agent_name":null,"snapshot":%s}}`,
		session, session, agent, snapshot)
}
