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
	lives    map[string]*life      // by generation
}

// starter is who started a terminal.
type starter int

const (
	nobody   starter = iota // it was there before this runner was
	byServer                // which tells of it itself
	byAgent
)

// life is what is known of a terminal: its launch may return before the news of
// it come, or after.
type life struct {
	by      starter
	session string // whose it is
	heard   bool   // the news of its start have come
	ended   bool   // by us, before they had
}

// startings are the launches of a session that are under way.
type startings struct {
	n     int
	by    map[string]starter // by name and key
	ended bool               // the session's terminals were ended meanwhile
}

func newTerminals(port Terminals, log *slog.Logger, tell func(core.Told)) *terminals {
	t := &terminals{
		port: port, log: log, tell: tell,
		starting: map[string]*startings{}, lives: map[string]*life{},
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
	if err == nil && t.lives[made.Generation] == nil {
		t.lives[made.Generation] = &life{by: by, session: made.Session}
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
		t.endedByUs(term.Generation)
	}
	return err
}

// endedByUs takes it that the terminal is gone. News of its start that come
// later are of no use to anybody.
func (t *terminals) endedByUs(generation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch l := t.lives[generation]; {
	case l == nil:
		t.lives[generation] = &life{ended: true}
	case l.heard:
		delete(t.lives, generation)
	default:
		l.ended = true
	}
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
		t.endedByUs(term.Generation)
		if tell {
			t.tell(deletedEvent(term))
		}
	}
}

// running tells whether there is any terminal. Nobody could reach one whose
// runner has left.
func (t *terminals) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lives {
		if !l.ended {
			return true
		}
	}
	return len(t.starting) > 0
}

// news hears what happens to terminals.
func (t *terminals) news(n wire.TerminalNews) {
	switch n.Kind {
	case wire.TerminalCreated:
		if by, tell := t.begun(n.Terminal); tell {
			t.tell(createdEvent(n.Terminal, by == byAgent))
		}
	case wire.TerminalExited:
		t.mu.Lock()
		delete(t.lives, n.Terminal.Generation)
		t.mu.Unlock()
		t.log.Info("terminal ended", "session", n.Terminal.Session, "terminal", n.Terminal.ID(),
			"status", n.Exit.Status, "signal", n.Exit.Signal)
		t.tell(deletedEvent(n.Terminal))
	case wire.TerminalActive:
		t.tell(activityEvent(n.Terminal))
	}
}

// begun takes the news of a start. It says who has started the terminal, and
// whether that is to be told.
func (t *terminals) begun(term wire.Terminal) (by starter, tell bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lives[term.Generation]
	switch {
	case l == nil:
		l = &life{session: term.Session}
		t.lives[term.Generation] = l
		if s := t.starting[term.Session]; s != nil {
			l.by = s.by[term.Name+"\x00"+term.Key]
		}
	case l.ended:
		delete(t.lives, term.Generation)
		return l.by, false
	}
	l.heard = true
	return l.by, l.by != byServer
}

// moved notes whose a terminal is now.
func (t *terminals) moved(term wire.Terminal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.lives[term.Generation]; l != nil {
		l.session = term.Session
	}
}

// sweep ends the terminals of sessions that are not on the server any more:
// deleted while this runner was away or cut off. Nobody could reach them again.
func (t *terminals) sweep(ctx context.Context, known func(context.Context, string) error) {
	sessions := map[string]bool{}
	t.mu.Lock()
	for _, l := range t.lives {
		if !l.ended {
			sessions[l.session] = true
		}
	}
	t.mu.Unlock()
	for s := range sessions {
		if errors.Is(known(ctx, s), wire.ErrNotFound) {
			t.log.Info("terminals of a session that is gone are ended", "session", s)
			t.closeAll(ctx, s, false)
		}
	}
}
