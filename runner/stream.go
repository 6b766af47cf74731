package runner

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/outrunner/outrunner/runner/core"
)

// The fixed frames of a session stream (sessions.md 4).
var (
	heartbeat = []byte("data: {\"type\": \"session.heartbeat\"}\n\n")
	done      = []byte("data: [DONE]\n\n")
)

// stream serves GET /v1/sessions/{id}/stream, for any id: the first frame is a
// heartbeat, at once. The newest reader of a session is its only one.
func (r *Runner) stream(w http.ResponseWriter, req *http.Request, session string) {
	rd := r.driver.outlets.attach(session)
	defer r.driver.outlets.detach(session, rd)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := &streamWriter{w: w, flush: http.NewResponseController(w).Flush}
	opened := core.StreamOpened{Session: session, Reader: rd.id}
	if r.cfg.Carrier.Generation != nil {
		opened.Tunnel = r.cfg.Carrier.Generation(req.Context())
	}
	// The server sends messages once it has the heartbeat: the core is to know
	// of the reader before. But the heartbeat waits for nothing.
	posted := r.loop.offer(opened)
	if !out.write(heartbeat) {
		return
	}
	if !posted && r.loop.request(req.Context(), opened) != nil {
		return
	}
	if r.cfg.Carrier.Admitted != nil {
		r.cfg.Carrier.Admitted(req.Context())
	}
	silence := time.NewTimer(r.timing.Heartbeat)
	defer silence.Stop()
	for {
		frames, end := rd.take()
		if !r.writeFrames(req.Context(), out, session, frames) {
			return
		}
		switch end {
		case endDone:
			out.write(done)
			return
		case endCut:
			// A drop, not an end: without the done marker the server comes back.
			panic(http.ErrAbortHandler)
		}
		if len(frames) > 0 {
			silence.Reset(r.timing.Heartbeat)
		}
		select {
		case <-rd.wake:
		case <-silence.C:
			if !out.write(heartbeat) {
				return
			}
			silence.Reset(r.timing.Heartbeat)
		case <-req.Context().Done():
			return
		}
	}
}

// writeFrames writes what has come in one flush and sees to it that the core
// hears when the server has the ends among it.
func (r *Runner) writeFrames(ctx context.Context, out *streamWriter, session string, frames []frame) bool {
	if len(frames) == 0 {
		return true
	}
	var buf bytes.Buffer
	var covers []string
	for _, f := range frames {
		buf.WriteString("data: ")
		buf.Write(f.data)
		buf.WriteString("\n\n")
		if f.covers != "" {
			covers = append(covers, f.covers)
		}
	}
	if !out.write(buf.Bytes()) {
		return false
	}
	for _, turn := range covers {
		crashAt("terminal")
		seen := func() { r.seenLater(ctx, core.Seen{Session: session, Turn: turn}) }
		if r.cfg.Carrier.OnCovered == nil || !r.cfg.Carrier.OnCovered(out.w, seen) {
			seen()
		}
	}
	return true
}

// seenLater tells the core of an end that the server has read, once it has also
// had the time to keep it. A server that dies between the two takes the stream
// with it: that end stays unseen and is told again, which is harmless.
func (r *Runner) seenLater(ctx context.Context, seen core.Seen) {
	time.AfterFunc(r.timing.Seen, func() {
		if ctx.Err() == nil {
			r.loop.answer(seen)
		}
	})
}

type streamWriter struct {
	w     http.ResponseWriter
	flush func() error
}

// write writes and flushes; false means that the reader is gone.
func (s *streamWriter) write(b []byte) bool {
	if _, err := s.w.Write(b); err != nil {
		return false
	}
	return s.flush() == nil
}
