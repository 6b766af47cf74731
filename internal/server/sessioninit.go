package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/outrunner/outrunner/internal/server/store"
)

// initVersion is the version of the session-init body.
const initVersion = 2

// wireVersion is the release of the Omnigent server whose wire this one speaks. A
// runner takes from it what the server knows, as the status waiting (sessions.md
// 5.9); this program's own version would say nothing to it.
const wireVersion = "0.19.1"

// initKind says what a runner is to do beyond knowing the session.
type initKind int

const (
	initPlain    initKind = iota // it may go on with what its history leaves open
	initSuppress                 // nothing: a message follows, or only its children matter
	initResume                   // go on with the turn that was cut off
)

// inits remembers what a connection's runner was told, so that it is told once.
type inits struct {
	mu   sync.Mutex
	told map[string]bool
}

// first says whether this is the first time, and notes it.
func (i *inits) first(key string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.told[key] {
		return false
	}
	if i.told == nil {
		i.told = make(map[string]bool)
	}
	i.told[key] = true
	return true
}

func (i *inits) forget(key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.told, key)
}

// initSession tells a runner of a session (server.md 4): once per connection,
// session, agent and kind; what failed may be told again.
func (s *Server) initSession(ctx context.Context, pr *presence, ses *store.Session, a *agent, kind initKind) error {
	key := fmt.Sprint(ses.ID, a.ID, ses.SubAgentName, kind == initResume)
	if !pr.inits.first(key) {
		return nil
	}
	err := s.sendInit(ctx, pr, ses, a, kind)
	if err != nil {
		pr.inits.forget(key)
	}
	return err
}

func (s *Server) sendInit(ctx context.Context, pr *presence, ses *store.Session, a *agent, kind initKind) error {
	body, err := store.Encode(s.initBody(pr, ses, a, kind))
	if err != nil {
		return err
	}
	status, answer, err := pr.ask(ctx, "http://runner/v1/sessions", body, s.cfg.Timing.Init, maxRunnerAnswer)
	if err != nil {
		return err
	}
	if status >= http.StatusMultipleChoices {
		return fmt.Errorf("the runner answered %d: %s", status, reasonOf(answer))
	}
	return nil
}

// initBody is the versioned body (sessions.md 2.1). The recovery id is that of
// the session on this connection: however often it is told, it is one recovery.
func (s *Server) initBody(pr *presence, ses *store.Session, a *agent, kind initKind) dict {
	setting := func(key string) any { return rawOrNull(ses.Settings[key]) }
	labels := ses.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	var recovery any
	if kind == initResume {
		recovery = shortHash(pr.id + ":" + ses.ID)
	}
	return dict{"session_id": ses.ID, "agent_id": a.ID, "sub_agent_name": orNull(ses.SubAgentName), "session_init": dict{
		"protocol_version": initVersion, "server_version": wireVersion,
		"session_id": ses.ID, "agent_id": a.ID, "sub_agent_name": orNull(ses.SubAgentName),
		"snapshot": dict{"created_at": ses.CreatedAt, "updated_at": ses.UpdatedAt, "workspace": orNull(ses.Workspace), "labels": labels,
			"reasoning_effort": orNull(ses.ReasoningEffort), "model_override": orNull(ses.ModelOverride), "harness_override": orNull(ses.HarnessOverride),
			"cost_control_mode_override": setting("cost_control_mode_override"), "terminal_launch_args": setting("terminal_launch_args"),
			"external_session_id": orNull(ses.ExternalSessionID), "parent_session_id": orNull(ses.ParentID), "root_session_id": ses.RootID,
			"inference_config": nil},
		"suppress_recovery_turn": kind == initSuppress, "resume_interrupted_turn": kind == initResume, "recovery_id": recovery}}
}

// introduce makes a new session known to its runner. A child is told of at once,
// so that its parent's runner knows who it is before anything is asked of it.
// Without work its stream stays closed until the first message (server.md 2.1).
func (s *Server) introduce(ctx context.Context, ses *store.Session, a *agent, hasWork bool) {
	if ses.ParentID == "" || hasWork {
		s.attach(ses.ID, ses.RunnerID)
	}
	pr := s.presences.get(ses.RunnerID)
	if ses.ParentID == "" || pr == nil {
		return
	}
	// Whoever made the child may leave: it is there.
	err := s.initSession(context.WithoutCancel(ctx), pr, ses, a, initSuppress)
	if err != nil && !s.stopping() {
		s.log.Warn("the runner was not told of a new sub-agent session", "session", ses.ID, "runner", ses.RunnerID, "error", err)
	}
}

// introduceBound tells a runner of a session that was just bound to it, each
// time that it is (server.md 2.3). A runner that is away learns of it when it
// connects.
func (s *Server) introduceBound(ctx context.Context, session, runner string) {
	pr := s.presences.get(runner)
	if pr == nil {
		return
	}
	ses, err := s.db.Read().Session(ctx, session)
	if err != nil {
		return // it was deleted meanwhile
	}
	a, err := s.agent(ctx, ses.AgentID)
	if err == nil {
		err = s.sendInit(context.WithoutCancel(ctx), pr, ses, a, initPlain)
	}
	if err != nil && !s.stopping() {
		s.log.Warn("the runner was not told of a session that was bound to it", "session", session, "runner", runner, "error", err)
	}
}
