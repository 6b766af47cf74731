package server

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/outrunner/outrunner/internal/server/store"
)

const (
	// headerEpoch changes with each start of the server (server.md 3).
	headerEpoch = "X-Omnigent-Stream-Epoch"
	// headerResync says that the stream can not go on from the given id: read
	// the items again.
	headerResync = "X-Outrunner-Resync"
	// headerEventID is the id of the newest event at the stream's begin, for a
	// client that loses the stream before the first id.
	headerEventID = "X-Outrunner-Event-Id"
	// replayPage is how many event rows are read at a time.
	replayPage = 256
)

var heartbeat = []byte(`{"type":"session.heartbeat","server_time":null,"sequence_number":null}`)

// getStream is GET /v1/sessions/{id}/stream: the session's events as they
// happen. A stored event has its number as id; with Last-Event-ID, or
// ?last_event_id=, the stream goes on after that one, also over a restart of
// the server.
func (s *Server) getStream(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	db := s.db.Read()
	ses, err := db.Session(ctx, id)
	if err != nil {
		return err
	}
	if s.stopping() {
		return refuse(http.StatusServiceUnavailable, "shutting_down", "The server is stopping; come back.")
	}
	var v *viewer
	var drafts []frame
	var now int64
	err = s.db.Quiet(func() error { // rows, text and live events meet without gap or overlap
		if now, err = db.LastSeq(ctx, id); err != nil {
			return err
		}
		v, drafts = s.hub.join(id)
		return nil
	})
	if err != nil {
		return err
	}
	defer v.leave()
	from, resync := now, false
	if given := firstOf(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("last_event_id")); given != "" {
		seq, err := strconv.ParseInt(given, 10, 64)
		whole := err == nil
		if whole {
			if whole, err = db.HasEventsAfter(ctx, id, seq); err != nil {
				return err
			}
		}
		if resync = !whole; whole {
			from = seq
		}
	}
	children, rest, err := s.beginning(ctx, ses)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	h.Set(headerEpoch, s.epoch)
	h.Set(headerEventID, strconv.FormatInt(now, 10))
	if resync {
		h.Set(headerResync, "1")
	}
	if ses.RunnerID != "" {
		s.attach(id, ses.RunnerID)
	}
	out := &eventWriter{w: w, rc: http.NewResponseController(w), limit: s.cfg.Timing.ViewerWrite, extras: wantsExtras(r)}
	if out.write(frame{typ: typeHeartbeat, data: heartbeat}) != nil || out.flush() != nil {
		return nil // the viewer left
	}
	for from < now {
		rows, err := db.Events(ctx, id, from, now, replayPage)
		if err != nil || len(rows) == 0 || rows[0].Seq != from+1 {
			return nil // the client goes on from where it is
		}
		for _, e := range rows {
			if out.write(rowFrame(e)) != nil {
				return nil
			}
		}
		from = rows[len(rows)-1].Seq
	}
	begin := slices.Concat(drafts, children, s.terminalFrames(ctx, ses), rest)
	for _, f := range begin {
		if out.write(f) != nil {
			return nil
		}
	}
	s.follow(r, out, v, now)
	return nil
}

// follow writes live events until the viewer or the server ends the stream.
func (s *Server) follow(r *http.Request, out *eventWriter, v *viewer, seq int64) {
	if out.flush() != nil {
		return
	}
	beat := time.NewTimer(s.cfg.Timing.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			if out.write(frame{typ: typeHeartbeat, data: heartbeat}) != nil {
				return
			}
		case <-v.wake:
			frames, end := v.take()
			for _, f := range frames {
				if f.seq != 0 {
					if f.seq != seq+1 {
						return // a row was committed unseen: the client goes on by number
					}
					seq = f.seq
				}
				if out.write(f) != nil {
					return
				}
			}
			if end == endDeleted {
				out.done()
			}
			if end != 0 {
				return
			}
		}
		if out.flush() != nil {
			return
		}
		beat.Reset(s.cfg.Timing.Heartbeat)
	}
}

func rowFrame(e store.Event) frame { return frame{seq: e.Seq, typ: e.Type, data: e.Data} }

// eventWriter writes server-sent events. A viewer that does not read for limit
// loses its stream.
type eventWriter struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	limit time.Duration
	buf   []byte
	// extras: the client asked for what is ours alone
	extras bool
}

func (e *eventWriter) write(f frame) error {
	if !e.extras {
		f = withoutExtras(f)
	}
	b := append(e.buf[:0], "event: "...)
	b = append(b, f.typ...)
	if f.seq != 0 {
		b = append(b, "\nid: "...)
		b = strconv.AppendInt(b, f.seq, 10)
	}
	b = append(b, "\ndata: "...)
	b = append(b, f.data...)
	e.buf = append(b, "\n\n"...)
	return e.send(e.buf)
}

// done writes the mark of a session that is over.
func (e *eventWriter) done() {
	if e.send([]byte("data: [DONE]\n\n")) == nil {
		_ = e.flush() // the stream is over either way
	}
}

func (e *eventWriter) send(b []byte) error {
	if err := e.rc.SetWriteDeadline(time.Now().Add(e.limit)); err != nil {
		return err
	}
	_, err := e.w.Write(b)
	return err
}

func (e *eventWriter) flush() error { return e.rc.Flush() }
