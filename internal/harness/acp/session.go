package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/outrunner/outrunner/internal/harness/turn"
)

// loadTimeout bounds session/load, in which an agent tells a whole conversation.
const loadTimeout = 2 * time.Minute

// agent is what is known of a program. It belongs to the turn that has the
// process, but for what peer.mu guards.
type agent struct {
	greeting              greeting
	initialized, signedIn bool

	session string // its id; guarded by peer.mu
	told    bool   // it has had a prompt, so it knows the conversation

	model modelState // guarded by peer.mu

	cost      float64 // what the session has cost, in dollars; guarded by peer.mu
	costKnown bool    // and that this is known; likewise
}

func (s *peer) sessionID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// begin notes the session. A new one has cost nothing yet.
func (s *peer) begin(session string, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.costKnown = session, s.costKnown || fresh
}

// sessionAnswer is what session/new and session/load answer.
type sessionAnswer struct {
	SessionID     string          `json:"sessionId"`
	Models        json.RawMessage `json:"models"`
	ConfigOptions json.RawMessage `json:"configOptions"`
}

// open sees to it that the agent has a session: the one that the process has,
// else the one from before, else a new one.
func (r *Run) open(ctx context.Context, s *peer) error {
	if !s.initialized {
		if err := r.initialize(ctx, s); err != nil {
			return err
		}
	}
	if s.sessionID() != "" {
		return nil
	}
	if r.start.Native != "" && s.greeting.AgentCapabilities.LoadSession {
		err := r.load(ctx, s)
		var reply *acp.RequestError
		if err == nil || !errors.As(err, &reply) {
			return err
		}
		r.Log.Warn("an agent could not load its session and is told the conversation", "native", r.start.Native, "err", replyText(err))
	}
	return r.create(ctx, s)
}

// load has the agent go on with a session from before. What it tells of that is
// no output of this turn: updates count only from the prompt on.
func (r *Run) load(ctx context.Context, s *peer) error {
	raw, err := r.signingIn(ctx, s, func() (json.RawMessage, error) {
		return request(ctx, s, loadTimeout, acp.AgentMethodSessionLoad, acp.LoadSessionRequest{
			SessionId: acp.SessionId(r.start.Native), Cwd: r.cfg.Dir, McpServers: r.toolServers(),
		}, nil, nil)
	})
	if errors.Is(err, errLate) {
		return r.refused(s, acp.AgentMethodSessionLoad, err)
	}
	if err != nil {
		return err
	}
	var answer sessionAnswer
	// null is an answer too, and of any other form nothing is needed.
	_ = json.Unmarshal(raw, &answer)
	s.begin(r.start.Native, false)
	s.told = true
	s.learn(answer)
	return nil
}

// toolServers lends the agent the runner's tools.
func (r *Run) toolServers() []acp.McpServer {
	if len(r.cfg.Tools) == 0 || r.opts.NoTools {
		return []acp.McpServer{}
	}
	return []acp.McpServer{{Stdio: &acp.McpServerStdio{
		Name: "outrunner", Command: r.cfg.Tools[0], Env: []acp.EnvVariable{},
		Args: slices.Concat(r.cfg.Tools[1:], []string{"--session", r.start.Session}),
	}}}
}

// newSession is session/new with the keys that some agents want besides.
type newSession struct {
	Cwd        string          `json:"cwd"`
	McpServers []acp.McpServer `json:"mcpServers"`
	SessionID  string          `json:"sessionId,omitempty"`
	Model      string          `json:"model,omitempty"`
}

// create begins a new session.
func (r *Run) create(ctx context.Context, s *peer) error {
	params := newSession{Cwd: r.cfg.Dir, McpServers: r.toolServers()}
	if r.opts.ClientSessionID {
		params.SessionID = rand.Text()
	}
	if r.opts.SendModel {
		params.Model = r.wantedModel("")
	}
	raw, err := r.signingIn(ctx, s, func() (json.RawMessage, error) {
		return request(ctx, s, handshakeTimeout, acp.AgentMethodSessionNew, params, nil, nil)
	})
	if err != nil {
		return r.refused(s, acp.AgentMethodSessionNew, err)
	}
	var answer sessionAnswer
	if err := json.Unmarshal(raw, &answer); err != nil {
		answer = sessionAnswer{}
	}
	if answer.SessionID == "" {
		answer.SessionID = params.SessionID
	}
	if answer.SessionID == "" {
		return fail(turn.CodeProtocol, fmt.Sprintf("%s answered session/new without a sessionId", r.cfg.Command[0]),
			"This is a fault of the program; tell whoever wrote it.")
	}
	s.begin(answer.SessionID, true)
	s.learn(answer)
	if r.opts.SendModel && params.Model != "" && s.activeModel() == "" {
		s.setActive(params.Model)
	}
	r.news = answer.SessionID
	return nil
}
