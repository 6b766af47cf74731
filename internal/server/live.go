package server

import (
	"strings"
	"sync"
)

// live is what the server keeps in memory of a session's running turn. It
// outlives the runner's connections, so a text that a cut divides stays whole.
type live struct {
	mu sync.Mutex
	// fenced: the turn was interrupted; what its response still brings is
	// dropped until a turn begins or the response ends (server.md 2.6). Items
	// that a runner posts are never fenced.
	fenced bool
	// response is the one of the last response.in_progress; items of the stream
	// that name none belong to it.
	response string
	// plain is the text of deltas without a message id, not yet stored.
	plain strings.Builder
}

// maxPlain bounds plain text; it is stored in pieces of this size.
const maxPlain = 1 << 20

// lives has the live part of each session that was touched.
type lives struct {
	mu  sync.Mutex
	all map[string]*live
}

func (l *lives) get(session string) *live {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = make(map[string]*live)
	}
	lv := l.all[session]
	if lv == nil {
		lv = &live{}
		l.all[session] = lv
	}
	return lv
}

// isFenced says whether a session's running response is held back.
func (l *lives) isFenced(session string) bool {
	lv := l.get(session)
	lv.mu.Lock()
	defer lv.mu.Unlock()
	return lv.fenced
}

func (l *lives) forget(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, session)
}
