package server

import (
	"sync"

	"github.com/outrunner/outrunner/internal/server/store"
)

// maxWatched bounds the sessions that one watcher asks for, and those that are
// added because they are new.
const maxWatched = 500

// watchers knows who wants to hear of which sessions' rows. It says which may
// have changed; what they are now is in the database.
type watchers struct {
	mu  sync.Mutex
	all map[*watcher]struct{}
}

// watcher is one reader of changes (updates.go).
type watcher struct {
	wake chan struct{} // has a token when take has something

	// guarded by watchers.mu
	watched map[string]bool
	changed map[string]bool
}

func (ws *watchers) join() *watcher {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all == nil {
		ws.all = make(map[*watcher]struct{})
	}
	w := &watcher{wake: make(chan struct{}, 1), watched: map[string]bool{}, changed: map[string]bool{}}
	ws.all[w] = struct{}{}
	return w
}

func (ws *watchers) leave(w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.all, w)
}

// watch replaces what a watcher hears of.
func (ws *watchers) watch(w *watcher, ids []string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	clear(w.watched)
	clear(w.changed)
	for _, id := range ids {
		w.watched[id] = true
	}
}

// touched says what a commit may have changed. A new session is told to all.
func (ws *watchers) touched(list []store.Touch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all {
		for _, t := range list {
			if t.New && len(w.watched) < 2*maxWatched {
				w.watched[t.Session] = true
			}
			if w.watched[t.Session] {
				w.changed[t.Session] = true
				w.signal()
			}
		}
	}
}

// runners says that a runner came or went: whose sessions are whose is in the
// database, so every watched row may have changed.
func (ws *watchers) runners() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all {
		for id := range w.watched {
			w.changed[id] = true
		}
		w.signal()
	}
}

// take empties what may have changed.
func (ws *watchers) take(w *watcher) []string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ids := make([]string, 0, len(w.changed))
	for id := range w.changed {
		ids = append(ids, id)
	}
	clear(w.changed)
	return ids
}

// forget stops watching sessions that are gone.
func (ws *watchers) forget(w *watcher, ids []string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, id := range ids {
		delete(w.watched, id)
	}
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
