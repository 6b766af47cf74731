package server

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// presence is one connection of a runner, from its hello to its loss.
type presence struct {
	id        string // of this connection
	runner    string
	harnesses []string
	client    *http.Client  // through this connection only
	lost      chan struct{} // closed when the connection is gone
	inits     inits
	wg        sync.WaitGroup
}

// presences knows which runners are here, and the line of each session. It is
// the one truth for "online".
type presences struct {
	mu       sync.Mutex
	byRunner map[string]*presence
	lines    map[string]*line
	came     chan struct{} // closed when a runner connects
}

// get finds a runner's newest connection, nil when it has none.
func (p *presences) get(runner string) *presence {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byRunner[runner]
}

// harnesses lists the runners that are here, each with what it runs.
func (p *presences) harnesses() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string][]string, len(p.byRunner))
	for id, pr := range p.byRunner {
		out[id] = pr.harnesses
	}
	return out
}

// enter makes a connection its runner's newest.
func (p *presences) enter(pr *presence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byRunner == nil {
		p.byRunner, p.lines = make(map[string]*presence), make(map[string]*line)
	}
	p.byRunner[pr.runner] = pr
	if p.came != nil {
		close(p.came)
		p.came = nil
	}
}

// await waits until a runner is here, and answers nil when it did not come in
// time.
func (p *presences) await(ctx context.Context, runner string, patience time.Duration) *presence {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		p.mu.Lock()
		pr := p.byRunner[runner]
		if p.came == nil {
			p.came = make(chan struct{})
		}
		came := p.came
		p.mu.Unlock()
		if pr != nil {
			return pr
		}
		select {
		case <-came:
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// leave takes a connection out and says whether it was still the newest.
func (p *presences) leave(pr *presence) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(pr.lost)
	if p.byRunner[pr.runner] != pr {
		return false
	}
	delete(p.byRunner, pr.runner)
	return true
}

// attach makes sure that a session has a line over its runner's newest
// connection, and wakes it. A line over an older connection is followed, not
// cut: what it has received is stored first. Without a connection it does
// nothing.
func (s *Server) attach(session, runner string) {
	p := &s.presences
	p.mu.Lock()
	defer p.mu.Unlock()
	pr, was := p.byRunner[runner], p.lines[session]
	if was != nil && was.presence.runner != runner {
		was.cancel() // the session is bound elsewhere now
	}
	if pr == nil {
		return
	}
	if was != nil && was.presence == pr && !was.over() {
		was.wake()
		return
	}
	l := newLine(s, pr, session, was)
	pr.wg.Add(1)
	cancel, ok := s.tasks.start(func(ctx context.Context) {
		defer pr.wg.Done()
		l.run(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		close(l.done)
		if p.lines[session] == l {
			delete(p.lines, session)
		}
	})
	if !ok {
		pr.wg.Done()
		return
	}
	l.cancel = cancel
	p.lines[session] = l
}

// detach ends a session's line, if it has one, and waits for it.
func (s *Server) detach(session string) {
	s.presences.mu.Lock()
	l := s.presences.lines[session]
	if l != nil {
		l.cancel()
	}
	s.presences.mu.Unlock()
	if l != nil {
		<-l.done
	}
}

// drain waits until the lines of a lost connection have stored what it brought,
// and cuts those that take too long.
func (s *Server) drain(pr *presence) {
	all := make(chan struct{})
	go func() {
		defer close(all)
		pr.wg.Wait()
	}()
	limit := time.NewTimer(s.cfg.Timing.RelayDrain)
	defer limit.Stop()
	select {
	case <-all:
		return
	case <-limit.C:
	}
	s.presences.mu.Lock()
	for _, l := range s.presences.lines {
		if l.presence == pr {
			l.cancel()
		}
	}
	s.presences.mu.Unlock()
	<-all
}
