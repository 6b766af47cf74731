package server

import (
	"context"
	"sort"
	"strings"
	"sync"

	"github.com/outrunner/outrunner/internal/server/store"
)

const (
	// codeFailedToStart is the failure of a turn whose runner never came up.
	codeFailedToStart = "runner_failed_to_start"
	// labelClosed marks a child that takes no more tasks.
	labelClosed = "omnigent.closed"
	// labelWrapper says what kind of program a session mirrors.
	labelWrapper = "omnigent.wrapper"
	// mirrored ends the wrapper of a child that lives inside of its parent's
	// process: nobody starts it again but that.
	mirrored = "-ui-subagent"
	// restoreTrees is how many trees of sessions are restored at a time.
	restoreTrees = 16
)

// restoring is one session that its runner is told of.
type restoring struct {
	ses   *store.Session
	kind  initKind
	depth int
}

// restore tells a runner that has connected of the sessions that need more than
// a stream: roots that are not idle, children whose turn was cut off, and the
// parents between them, first (server.md 4). Streams and messages do not wait
// for it. What fails is logged; the runner's own scan finds it too.
func (s *Server) restore(ctx context.Context, pr *presence) {
	trees, err := s.restorable(ctx, pr.runner)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Error("looking for sessions to restore", "runner", pr.runner, "error", err)
		}
		return
	}
	places := make(chan struct{}, restoreTrees)
	var wg sync.WaitGroup
	for _, tree := range trees {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			for _, r := range tree {
				if ctx.Err() != nil {
					return
				}
				if err := s.restoreOne(ctx, pr, r); err != nil && ctx.Err() == nil {
					s.log.Warn("a session was not restored", "session", r.ses.ID, "runner", pr.runner, "error", err)
				}
			}
		})
	}
	wg.Wait()
}

func (s *Server) restoreOne(ctx context.Context, pr *presence, r restoring) error {
	if r.ses.RunnerID != pr.runner {
		if err := s.rebind(ctx, r.ses.ID, pr.runner); err != nil {
			return err
		}
	}
	a, err := s.agent(ctx, r.ses.AgentID)
	if err != nil {
		return err
	}
	return s.initSession(ctx, pr, r.ses, a, r.kind)
}

// restorable lists what is to be restored at a runner: one list per tree,
// parents before children.
func (s *Server) restorable(ctx context.Context, runner string) ([][]restoring, error) {
	db := s.db.Read()
	unsettled, err := db.Unsettled(ctx)
	if err != nil {
		return nil, err
	}
	f := forest{s: s, runner: runner, known: make(map[string]*store.Session), chosen: make(map[string]restoring)}
	for _, ses := range unsettled {
		f.known[ses.ID] = ses
	}
	for _, ses := range unsettled {
		if err := f.choose(ctx, db, ses); err != nil {
			return nil, err
		}
	}
	return f.trees(), nil
}

// forest is the choice of the sessions to restore.
type forest struct {
	s      *Server
	runner string
	known  map[string]*store.Session
	chosen map[string]restoring
}

// choose takes a session and the parents above it, if it is to be restored at
// this runner.
func (f *forest) choose(ctx context.Context, db store.Reader, ses *store.Session) error {
	line, err := f.lineage(ctx, db, ses)
	if err != nil {
		return err
	}
	if f.owner(line) != f.runner {
		return nil
	}
	for _, one := range line {
		if one.Archived || one.Labels[labelClosed] == "true" {
			return nil
		}
	}
	switch {
	case ses.ParentID == "":
		f.chosen[ses.ID] = restoring{ses: ses, kind: initPlain}
		return nil
	case !interrupted(ses), strings.HasSuffix(ses.Labels[labelWrapper], mirrored), f.s.lives.isFenced(ses.ID):
		return nil
	}
	f.chosen[ses.ID] = restoring{ses: ses, kind: initResume, depth: len(line)}
	for n, above := range line[1:] {
		if f.owner(line[n+1:]) != f.runner {
			break // the rest of the tree is another runner's
		}
		if _, has := f.chosen[above.ID]; !has {
			f.chosen[above.ID] = restoring{ses: above, kind: initSuppress, depth: len(line) - n - 1}
		}
	}
	return nil
}

// lineage is a session and its parents, up to the root.
func (f *forest) lineage(ctx context.Context, db store.Reader, ses *store.Session) ([]*store.Session, error) {
	line := []*store.Session{ses}
	for ses.ParentID != "" {
		above := f.known[ses.ParentID]
		if above == nil {
			var err error
			if above, err = db.Session(ctx, ses.ParentID); err != nil {
				return line, ignoreNotFound(err)
			}
			f.known[above.ID] = above
		}
		line, ses = append(line, above), above
	}
	return line, nil
}

// owner is the runner that a session belongs to: its own, unless that is gone
// for good; then its parent's.
func (f *forest) owner(line []*store.Session) string {
	for _, ses := range line {
		if ses.RunnerID != "" && !f.s.gone(ses.RunnerID) {
			return ses.RunnerID
		}
	}
	return ""
}

// trees groups what was chosen by its root.
func (f *forest) trees() [][]restoring {
	byRoot := make(map[string][]restoring)
	for _, r := range f.chosen {
		byRoot[r.ses.RootID] = append(byRoot[r.ses.RootID], r)
	}
	out := make([][]restoring, 0, len(byRoot))
	for _, tree := range byRoot {
		sort.Slice(tree, func(i, j int) bool {
			if tree[i].depth != tree[j].depth {
				return tree[i].depth < tree[j].depth
			}
			return tree[i].ses.N < tree[j].ses.N
		})
		out = append(out, tree)
	}
	return out
}

// interrupted says whether a session's turn was cut off by the loss of its
// runner, or may have been.
func interrupted(ses *store.Session) bool {
	switch errorCode(ses.Error) {
	case codeDisconnected, codeFailedToStart:
		return ses.Status == statusFailed
	}
	return inTurn(ses.Status)
}
