package tunnel

import "sync"

// registry knows the links of a server, and which one is each runner's. Newest
// wins; removal is by identity, so a late goodbye of an old connection never
// takes the new one away.
type registry struct {
	mu      sync.Mutex
	gen     uint64
	links   map[*link]struct{} // upgraded or about to be
	runners map[string]*serverEnd
	closed  bool
}

// enter counts a link in. It reports false once the server is closed.
func (g *registry) enter(l *link, running *sync.WaitGroup) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	if g.links == nil {
		g.links = map[*link]struct{}{}
	}
	g.links[l] = struct{}{}
	running.Add(1)
	return true
}

// leave counts out a link that is over.
func (g *registry) leave(l *link, running *sync.WaitGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, counted := g.links[l]; counted {
		delete(g.links, l)
		running.Done()
	}
}

// register makes e the runner's connection and returns the one before. It
// reports false if that one belongs to another owner: then it stays.
func (g *registry) register(e *serverEnd) (old *serverEnd, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old = g.runners[e.info.ID]
	if old != nil && old.info.Owner != e.info.Owner {
		return nil, false
	}
	if g.runners == nil {
		g.runners = map[string]*serverEnd{}
	}
	g.gen++
	e.info.Generation = g.gen
	g.runners[e.info.ID] = e
	return old, true
}

// remove takes e away if it still is the runner's connection.
func (g *registry) remove(e *serverEnd) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runners[e.info.ID] == e {
		delete(g.runners, e.info.ID)
	}
}

func (g *registry) get(runnerID string) *serverEnd {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.runners[runnerID]
}

func (g *registry) list() []RunnerInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	infos := make([]RunnerInfo, 0, len(g.runners))
	for _, e := range g.runners {
		infos = append(infos, e.info)
	}
	return infos
}

// shut lets no more links in and returns those that there are.
func (g *registry) shut() []*link {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	links := make([]*link, 0, len(g.links))
	for l := range g.links {
		links = append(links, l)
	}
	return links
}
