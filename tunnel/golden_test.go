package tunnel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// TestDialogueWithAServer plays upstream's server against our runner: what it
// sends in Python's spelling, and what must come back, message by message.
func TestDialogueWithAServer(t *testing.T) {
	over := make(chan struct{})
	url := rawServer(t, func(r *raw, req *http.Request) {
		select {
		case <-over: // only the first connection is a test
			return
		default:
		}
		defer close(over)
		require.Equal(t, "/v1/runners/r%2F1%20x/tunnel", req.URL.EscapedPath())
		require.Equal(t, "omnigent://internal", req.Header.Get("Origin"))
		require.Equal(t, "Bearer tok", req.Header.Get("Authorization"))
		require.Empty(t, req.Header.Get("Sec-WebSocket-Extensions"), "no deflate is offered")

		hello := r.read()
		require.True(t, strings.HasPrefix(hello, `{"kind":"hello","runner_version":"1.0","frame_protocol_version":1,"harnesses":["acp:shell"],"envs":[],"telemetry_opt_out":true,"connection_id":"`), hello)

		r.send(`{"kind": "ping", "ts": 123456789012345678901234567890}`)
		r.expect(`{"kind":"pong","ts":123456789012345678901234567890}`)

		r.send(`{"kind": "request", "id": "r1", "method": "POST", "path": "/a/b c?d", "query_string": "x=%20&y", "headers": [["host", "runner"], ["content-type", "application/json"], ["content-length", "99"]], "body": "{\"t\": \"\u00e9\"}", "encoding": "utf-8", "stream": true}`)
		r.expect(`{"kind":"response.head","id":"r1","status":201,"headers":[["content-type","application/json"],["set-cookie","a=1"],["set-cookie","b=2"]]}`)
		r.expect(`{"kind":"response.body","id":"r1","body":"POST /a/b c?d x=%20&y runner 11 {\"t\": \"é\"}","encoding":"utf-8"}`)
		r.expect(`{"kind":"response.end","id":"r1"}`)

		// What cannot be decoded is skipped; a request in it is answered.
		r.send(`not json`)
		r.send(`{"kind":"request.flow","id":"r1","credits":16}`)
		r.send(strings.Repeat("[", 100_000))
		r.send(`{"kind":"request","id":"r2","method":"GET","path":"/","headers":null}`)
		r.expect(`{"kind":"response.head","id":"r2","status":400,"headers":[["content-type","application/json"]]}`)
		r.expect(`{"kind":"response.body","id":"r2","body":"{\"error\": \"bad_request_frame\"}","encoding":"utf-8"}`)
		r.expect(`{"kind":"response.end","id":"r2"}`)
		r.send(`{"kind":"request","id":"r3","method":"POST","path":"/","body":"a","encoding":"base64"}`)
		r.expect(`{"kind":"response.head","id":"r3","status":400,"headers":[["content-type","application/json"]]}`)
		r.expect(`{"kind":"response.body","id":"r3","body":"{\"error\": \"bad_request_body\"}","encoding":"utf-8"}`)
		r.expect(`{"kind":"response.end","id":"r3"}`)

		// Frames that a runner does not expect are ignored, and so are ids that
		// nobody knows; a binary message is a frame too.
		for _, kind := range []string{`"pong","ts":1`, `"response.end","id":"x"`, `"event.ready"`, `"request.cancel","id":"x"`, `"ws.frame","ch_id":"x","data":""`} {
			r.send(`{"kind":` + kind + `}`)
		}
		require.NoError(t, r.ws.Write(context.Background(), websocket.MessageBinary,
			[]byte(`{"kind":"request","id":"r4","method":"GET","path":"/image","encoding":"utf-8"}`)))
		r.expect(`{"kind":"response.head","id":"r4","status":200,"headers":[["content-type","image/png"]]}`)
		r.expect(`{"kind":"response.body","id":"r4","body":"iVBORw==","encoding":"base64"}`)
		r.expect(`{"kind":"response.end","id":"r4"}`)

		// Channels: nothing is answered to an open one; an unknown one is closed.
		r.send(`{"kind":"ws.open","ch_id":"a1b2c3d4","path":"/v1/sessions/s/resources/terminals/t/attach","query_string":"read_only=false"}`)
		r.send(`{"kind":"ws.frame","ch_id":"a1b2c3d4","data":"{\"type\":\"resize\"}","encoding":"utf-8"}`)
		r.send(`{"kind":"ws.frame","ch_id":"a1b2c3d4","data":"G1 tB","encoding":"base64"}`) // not strict: dropped
		r.send(`{"kind":"ws.frame","ch_id":"a1b2c3d4","data":"G1tB","encoding":"base64"}`)
		r.expect(`{"kind":"ws.frame","ch_id":"a1b2c3d4","data":"{\"type\":\"resize\"}","encoding":"utf-8"}`)
		r.expect(`{"kind":"ws.frame","ch_id":"a1b2c3d4","data":"G1tB","encoding":"base64"}`)
		r.send(`{"kind":"ws.close","ch_id":"a1b2c3d4","code":1000,"reason":""}`)
		r.send(`{"kind":"ws.open","ch_id":"b","path":"/nothing"}`)
		r.expect(`{"kind":"ws.close","ch_id":"b","code":4404,"reason":"terminal resource not found or not running"}`)

		// An answer that fails after its head ends with a word.
		r.send(`{"kind":"request","id":"r5","method":"GET","path":"/late-panic"}`)
		r.expect(`{"kind":"response.head","id":"r5","status":200,"headers":[]}`)
		r.expect(`{"kind":"response.body","id":"r5","body":"aGFsZg==","encoding":"base64"}`)
		r.expect(`{"kind":"response.end","id":"r5","error":"runner_stream_error"}`)
		r.send(`{"kind":"request","id":"r6","method":"GET","path":"/panic"}`)
		r.expect(`{"kind":"response.head","id":"r6","status":500,"headers":[["content-type","application/json"]]}`)
		r.expect(`{"kind":"response.body","id":"r6","body":"{\"error\": \"runner_dispatch_failed\"}","encoding":"utf-8"}`)
		r.expect(`{"kind":"response.end","id":"r6"}`)
	})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte{0x89, 'P', 'N', 'G'})
		case "/panic":
			panic("before the head")
		case "/late-panic":
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, "%s %s %s %s %d %s", r.Method, r.URL.Path, r.URL.RawQuery, r.Host, r.ContentLength, body)
		}
	})
	startClient(t, &Client{
		URL: url + "/", RunnerID: "r/1 x", Handler: handler, Log: testLog(t, "runner"),
		Hello: func() Hello {
			return Hello{RunnerVersion: "1.0", Harnesses: []string{"acp:shell"}, TelemetryOptOut: true}
		},
		Header:   func(context.Context) (http.Header, error) { return http.Header{"Authorization": {"Bearer tok"}}, nil },
		Channels: echoChannels{},
	})
	<-over
}

// echoChannels answers each message with itself.
type echoChannels struct{}

func (echoChannels) ServeChannel(ctx context.Context, ch *Channel) {
	if ch.Path == "/nothing" {
		ch.Close(closeNoChannel, "terminal resource not found or not running")
		return
	}
	for {
		m, err := ch.Read(ctx)
		if err != nil {
			return
		}
		if ch.Write(ctx, m) != nil {
			return
		}
	}
}

// TestDialogueWithARunner plays upstream's runner against our server.
func TestDialogueWithARunner(t *testing.T) {
	s := newTestServer(t, &Server{Timing: Timing{Ping: 1 << 40}})
	r := rawRunner(t, s, "r1")
	type result struct {
		resp *http.Response
		body string
		err  error
	}
	call := func(method, url, body string) chan result {
		out := make(chan result, 1)
		go func() {
			req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
			if err != nil {
				out <- result{err: err}
				return
			}
			req.Header.Set("Content-Type", "application/json; charset=x")
			req.Header["X-A"] = []string{"1", "2"}
			resp, err := s.Transport("r1").RoundTrip(req)
			if err != nil {
				out <- result{err: err}
				return
			}
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			out <- result{resp, string(b), err}
		}()
		return out
	}

	// The server says nothing by itself: the first message is the request.
	got := call("POST", "http://runner/a%2Fb%20c%3Fd?x=%20", `{"t": "é"}`)
	var f map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.read()), &f))
	id, _ := f["id"].(string)
	require.Len(t, id, 32)
	delete(f, "id")
	require.Equal(t, map[string]any{
		"kind": "request", "method": "POST", "path": "/a/b c?d", "query_string": "x=%20", "stream": true,
		"headers": []any{
			[]any{"content-length", "11"}, []any{"content-type", "application/json; charset=x"},
			[]any{"host", "runner"}, []any{"x-a", "1, 2"},
		},
		"body": `{"t": "é"}`, "encoding": "utf-8",
	}, f)
	r.send(`{"kind": "response.head", "id": "` + id + `", "status": 200, "headers": [["content-type", "text/event-stream"], ["set-cookie", "a=1"], ["set-cookie", "b=2"], ["x-latin", "\u00e9"]]}`)
	r.send(`{"kind": "response.head", "id": "` + id + `", "status": 500, "headers": []}`) // ignored
	r.send(`{"kind": "response.body", "id": "` + id + `", "body": "data: \u00e9\n\n", "encoding": "utf-8"}`)
	r.send(`{"kind": "response.body", "id": "` + id + `", "body": "", "encoding": "utf-8"}`)
	r.send(`{"kind": "response.body", "id": "` + id + `", "body": "aGVs bG8=\n", "encoding": "base64"}`)
	r.send(`{"kind": "response.end", "id": "` + id + `"}`)
	res := <-got
	require.NoError(t, res.err)
	require.Equal(t, 200, res.resp.StatusCode)
	require.Equal(t, []string{"a=1", "b=2"}, res.resp.Header["Set-Cookie"])
	require.Equal(t, "\xe9", res.resp.Header.Get("X-Latin"))
	require.Equal(t, "data: é\n\nhello", res.body)

	// A GET has no body; each abnormal end is a StreamError, and the tunnel stays.
	for _, c := range []struct{ name, frames, want, cancel string }{
		{"error before the head", `{"kind":"response.end","id":"ID","error":""}`, "", ""},
		{"end before the head", `{"kind":"response.end","id":"ID"}`, "runner sent response.end before response.head", ""},
		{"error after the head", `{"kind":"response.head","id":"ID","status":200}|{"kind":"response.end","id":"ID","error":"runner_stream_error"}`, "runner_stream_error", ""},
		{"unknown encoding", `{"kind":"response.head","id":"ID","status":200}|{"kind":"response.body","id":"ID","body":"x","encoding":"rot13"}`, "unknown body encoding", "protocol_error"},
		{"undecodable frame", `{"kind":"response.head","id":"ID","status":200}|{"kind":"response.body","id":"ID","body":5}`, "undecodable response.body", "protocol_error"},
		{"invalid status", `{"kind":"response.head","id":"ID","status":12345678901234567890}`, "invalid status 12345678901234567890", "protocol_error"},
		{"body before the head", `{"kind":"response.body","id":"ID","body":"x"}`, "response.body before response.head", "protocol_error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := call("GET", "http://runner/x", "")
			req, ok := r.next().(Request)
			require.True(t, ok)
			require.Nil(t, req.Body)
			for _, frame := range strings.Split(c.frames, "|") {
				r.send(strings.ReplaceAll(frame, "ID", req.ID))
			}
			res := <-got
			var stream *StreamError
			require.ErrorAs(t, res.err, &stream)
			require.Contains(t, stream.Text, c.want)
			if c.cancel != "" {
				require.Equal(t, RequestCancel{ID: req.ID, Reason: c.cancel}, r.next())
			}
		})
	}

	// Frames that a server does not expect, malformed ones, and binary ones.
	for _, text := range []string{`{"kind":"ping","ts":1}`, `{"kind":"hello"}`, `{`, `{"kind":"request","id":"x","method":"GET","path":"/"}`, `{"kind":"event.batch","id":"b","session_id":"s","events":[{"type":"x"}]}`} {
		r.send(text)
	}
	require.NoError(t, r.ws.Write(t.Context(), websocket.MessageBinary, []byte{0xff}))
	got = call("GET", "http://runner/x", "")
	req, ok := r.next().(Request)
	require.True(t, ok)
	r.send(`{"kind":"response.head","id":"` + req.ID + `","status":204}`)
	r.send(`{"kind":"response.end","id":"` + req.ID + `"}`)
	require.NoError(t, (<-got).err)
}
