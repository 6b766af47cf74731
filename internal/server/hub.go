package server

import (
	"sync"

	"github.com/outrunner/outrunner/internal/server/store"
)

const (
	// viewerEvents and viewerBytes bound what waits for one viewer. One that is
	// further behind is cut alone, and goes on by number or reads again.
	viewerEvents = 1024
	viewerBytes  = 8 << 20
)

// ending says why a viewer's stream is over.
type ending int

const (
	endStopped ending = iota + 1 // the server stops: no [DONE], come back
	endSlow                      // too far behind: no [DONE], come back
	endDeleted                   // the session is gone: [DONE]
)

// frame is one event on its way to a viewer. Seq is 0 for what is not stored.
type frame struct {
	seq  int64
	typ  string
	data []byte
}

// hub passes events on to the viewers of each session. It keeps no history:
// that is the event rows'. What it does keep is the text of messages that are
// not stored yet, for viewers that come in the middle.
type hub struct {
	mu      sync.Mutex
	rooms   map[string]*room
	stopped bool
}

// room is what the hub knows of one session; it exists while there is a viewer
// or a draft.
type room struct {
	viewers map[*viewer]struct{}
	drafts  drafts
}

// viewer is one open stream.
type viewer struct {
	hub     *hub
	session string
	wake    chan struct{} // has a token when take has something new

	// guarded by hub.mu
	queue []frame
	bytes int
	end   ending
}

func newHub() *hub { return &hub{rooms: make(map[string]*room)} }

func (h *hub) room(session string) *room {
	r := h.rooms[session]
	if r == nil {
		r = &room{viewers: make(map[*viewer]struct{})}
		h.rooms[session] = r
	}
	return r
}

// tidy forgets a room that holds nothing.
func (h *hub) tidy(session string) {
	if r := h.rooms[session]; r != nil && len(r.viewers) == 0 && r.drafts.empty() {
		delete(h.rooms, session)
	}
}

// join adds a viewer and returns with it the unfinished text at that moment.
func (h *hub) join(session string) (*viewer, []frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := &viewer{hub: h, session: session, wake: make(chan struct{}, 1)}
	if h.stopped {
		v.close(endStopped)
		return v, nil
	}
	r := h.room(session)
	r.viewers[v] = struct{}{}
	return v, r.drafts.frames()
}

// leave takes a viewer out.
func (v *viewer) leave() {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	if r := v.hub.rooms[v.session]; r != nil {
		delete(r.viewers, v)
		v.hub.tidy(v.session)
	}
}

// take empties the viewer's queue. A stream with an ending is over after the
// frames that came with it.
func (v *viewer) take() ([]frame, ending) {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	q := v.queue
	v.queue, v.bytes = nil, 0
	return q, v.end
}

// committed passes on what a transaction published. The store calls it.
func (h *hub) committed(events []store.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		r := h.rooms[e.Session]
		if r == nil {
			continue
		}
		r.push(frame{seq: e.Seq, typ: e.Type, data: e.Data})
		if !r.drafts.empty() {
			r.drafts.settle(e.Type, e.Data)
			h.tidy(e.Session)
		}
	}
}

// preview passes on a piece of text that is not stored.
func (h *hub) preview(session string, d delta) {
	b, err := store.Encode(d)
	if err != nil {
		return // a struct of strings and ints always encodes
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	r := h.room(session)
	r.drafts.add(d)
	r.push(frame{typ: typeTextDelta, data: b})
}

// pass hands on an event that is neither stored nor kept.
func (h *hub) pass(session, typ string, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rooms[session]; r != nil {
		r.push(frame{typ: typ, data: data})
	}
}

// gone ends the streams of a deleted session.
func (h *hub) gone(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rooms[session]; r != nil {
		for v := range r.viewers {
			v.close(endDeleted)
		}
		delete(h.rooms, session)
	}
}

// stop ends every stream, now and later.
func (h *hub) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	for _, r := range h.rooms {
		for v := range r.viewers {
			v.close(endStopped)
		}
	}
	h.rooms = make(map[string]*room)
}

func (r *room) push(f frame) {
	for v := range r.viewers {
		if len(v.queue) >= viewerEvents || v.bytes+len(f.data) > viewerBytes {
			v.queue, v.bytes = nil, 0
			v.close(endSlow)
			delete(r.viewers, v)
			continue
		}
		v.queue = append(v.queue, f)
		v.bytes += len(f.data)
		v.signal()
	}
}

func (v *viewer) close(e ending) {
	v.end = e
	v.signal()
}

func (v *viewer) signal() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}
