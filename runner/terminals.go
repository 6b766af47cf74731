package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// closeTimeout bounds the end of a session's terminals (terminals.md 1.5).
const closeTimeout = 5 * time.Second

// terminals is the port, and what this package must know beside it: who started
// what, because the server tells of what it had started itself.
type terminals struct {
	port Terminals
	log  *slog.Logger
	tell func(core.Told)

	mu       sync.Mutex
	starting map[string]*startings // by session
	due      map[string]starter    // by generation: started, and its news has not come
	heard    map[string]string     // by generation: its session; the news of its start has come
	adopted  map[string]bool       // sessions whose terminals were there before this runner
}

// starter is who started a terminal.
type starter int

const (
	nobody   starter = iota // it was there before this runner was
	byServer                // which tells of it itself
	byAgent
)

// startings are the launches of a session that are under way.
type startings struct {
	n     int
	by    map[string]starter // by name and key
	ended bool               // the session's terminals were ended meanwhile
}

func newTerminals(port Terminals, log *slog.Logger, tell func(core.Told)) *terminals {
	t := &terminals{
		port: port, log: log, tell: tell,
		starting: map[string]*startings{}, due: map[string]starter{}, heard: map[string]string{}, adopted: map[string]bool{},
	}
	if port != nil {
		port.OnNews(t.news)
	}
	return t
}

// listTerminals are those of a session, none where there are none at all.
func (r *Runner) listTerminals(session string) []wire.Terminal {
	if r.terminals.port == nil {
		return nil
	}
	return r.terminals.port.List(session)
}

// errEnded: the session was deleted or reset while its terminal started.
var errEnded = errors.New("the session's terminals were ended while this one started")

// launch starts a terminal, or finds it running.
func (t *terminals) launch(ctx context.Context, spec wire.TerminalSpec, by starter) (wire.Terminal, error) {
	name := spec.Name + "\x00" + spec.Key
	t.mu.Lock()
	s := t.starting[spec.Session]
	if s == nil || s.ended { // what was ended is not what starts now
		s = &startings{by: map[string]starter{}}
		t.starting[spec.Session] = s
	}
	s.n++
	s.by[name] = max(s.by[name], by)
	t.mu.Unlock()

	made, err := t.port.Launch(ctx, spec)

	t.mu.Lock()
	s.n--
	ended := s.ended
	if s.n == 0 && t.starting[spec.Session] == s {
		delete(t.starting, spec.Session)
	}
	if _, heard := t.heard[made.Generation]; err == nil && !heard && made.Generation != "" {
		t.due[made.Generation] = by
	}
	t.mu.Unlock()
	if err == nil && ended {
		return wire.Terminal{}, errors.Join(errEnded, t.close(ctx, made))
	}
	return made, err
}

// close ends a terminal. It is no news.
func (t *terminals) close(ctx context.Context, term wire.Terminal) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := t.port.Close(ctx, term.Session, term.ID())
	if err == nil {
		t.forget(term.Generation)
	}
	return err
}

func (t *terminals) forget(generation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.due, generation)
	delete(t.heard, generation)
}

// closeAll ends the terminals of a session, and tells so if it must.
func (t *terminals) closeAll(ctx context.Context, session string, tell bool) {
	if t.port == nil {
		return
	}
	t.mu.Lock()
	if s := t.starting[session]; s != nil {
		s.ended = true
	}
	delete(t.adopted, session)
	t.mu.Unlock()
	list := t.port.List(session)
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := t.port.CloseAll(ctx, session); err != nil {
		t.log.Warn("ending the terminals of a session", "session", session, "error", err)
	}
	left := map[string]bool{}
	for _, term := range t.port.List(session) {
		left[term.Generation] = true
	}
	for _, term := range list {
		if left[term.Generation] {
			continue
		}
		t.forget(term.Generation)
		if tell {
			t.tell(deletedEvent(term))
		}
	}
}

// news hears what happens to terminals.
func (t *terminals) news(n wire.TerminalNews) {
	switch n.Kind {
	case wire.TerminalCreated:
		by := t.startedBy(n.Terminal)
		if by != byServer {
			t.tell(createdEvent(n.Terminal, by == byAgent))
		}
	case wire.TerminalExited:
		t.forget(n.Terminal.Generation)
		t.log.Info("terminal ended", "session", n.Terminal.Session, "terminal", n.Terminal.ID(),
			"status", n.Exit.Status, "signal", n.Exit.Signal)
		t.tell(deletedEvent(n.Terminal))
	case wire.TerminalActive:
		t.tell(activityEvent(n.Terminal))
	}
}

// startedBy takes the news of a start.
func (t *terminals) startedBy(term wire.Terminal) starter {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard[term.Generation] = term.Session
	if by, ok := t.due[term.Generation]; ok {
		delete(t.due, term.Generation)
		return by
	}
	if s := t.starting[term.Session]; s != nil {
		if by := s.by[term.Name+"\x00"+term.Key]; by != nobody {
			return by
		}
	}
	t.adopted[term.Session] = true
	return nobody
}

// sweep ends what was found of sessions that are not on the server any more:
// nobody could reach it again.
func (t *terminals) sweep(ctx context.Context, known func(context.Context, string) error) {
	t.mu.Lock()
	var sessions []string
	for s := range t.adopted {
		sessions = append(sessions, s)
	}
	t.mu.Unlock()
	for _, s := range sessions {
		err := known(ctx, s)
		if errors.Is(err, wire.ErrNotFound) {
			t.log.Info("terminals of a session that is gone are ended", "session", s)
			t.closeAll(ctx, s, false)
			continue
		}
		if err == nil {
			t.mu.Lock()
			delete(t.adopted, s)
			t.mu.Unlock()
		}
	}
}
