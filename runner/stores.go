package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// storeRetryCap is the longest wait between two tries of a store.
const storeRetryCap = 2 * time.Second

// storeTimeout ends one try (sessions.md 11).
const storeTimeout = 10 * time.Second

// notStored is the complaint about a server that does not keep an item.
const notStored = "the server does not keep the session's items; trying again"

// stores sends the items of each session's outbox to the server: one at a
// time per session, in order, until the server has settled it. Sessions do not
// wait for each other.
type stores struct {
	mu    sync.Mutex
	lines map[string]*storeLine
}

type storeLine struct {
	waiting []core.Store
	cancel  context.CancelFunc
}

func (s *stores) add(ctx context.Context, d *driver, e core.Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil {
		s.lines = map[string]*storeLine{}
	}
	line := s.lines[e.Session]
	if line != nil {
		line.waiting = append(line.waiting, e)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	line = &storeLine{waiting: []core.Store{e}, cancel: cancel}
	s.lines[e.Session] = line
	d.running.Go(func() {
		defer cancel()
		for {
			next, ok := s.next(e.Session, line)
			if !ok || !d.send(ctx, next) {
				return
			}
		}
	})
}

func (s *stores) next(session string, line *storeLine) (core.Store, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(line.waiting) == 0 {
		if s.lines[session] == line {
			delete(s.lines, session)
		}
		return core.Store{}, false
	}
	e := line.waiting[0]
	line.waiting = line.waiting[1:]
	return e, true
}

// forget gives up what is left to send of a deleted session.
func (s *stores) forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line := s.lines[session]; line != nil {
		line.cancel()
		delete(s.lines, session)
	}
}

// send tries until the server has acknowledged or refused the item for good.
// It returns false when the line is over.
func (d *driver) send(ctx context.Context, e core.Store) bool {
	wait := d.r.timing.StoreRetry
	for {
		try, cancel := context.WithTimeout(ctx, storeTimeout)
		_, err := d.r.cfg.Server.Store(try, e.Session, e.Out)
		cancel()
		if ctx.Err() != nil {
			return false
		}
		if err == nil || errors.Is(err, wire.ErrNotFound) || errors.Is(err, wire.ErrRejected) {
			crashAt("posted")
			if d.trouble.end(e.Session, notStored) {
				d.log.Info("the server keeps the session's items again", "session", e.Session)
			}
			d.r.loop.answer(core.Stored{Session: e.Session, Source: e.Out.SourceID, Err: err})
			return true
		}
		d.trouble.add(e.Session, notStored, err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
		wait = min(2*wait, storeRetryCap)
	}
}
