package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/outrunner/outrunner/internal/agentspec"
	"github.com/outrunner/outrunner/internal/server/store"
	"github.com/outrunner/outrunner/runner/wire"
)

// agent is an agent that sessions can have now.
type agent struct {
	store.Agent
	// pack makes the bundle of an agent that is not stored yet.
	pack func() ([]byte, error)
}

// revision names the agent's content for runners: when it changes, they read
// the bundle again.
func (a *agent) revision() string { return a.ID + "/" + a.Digest }

// specOf is the spec that a session runs: the agent's own, or that of the
// sub-agent it is. nil = the tree has no such sub-agent any more.
func (a *agent) specOf(ses *store.Session) *wire.Spec {
	if ses.SubAgentName == "" {
		return a.Spec
	}
	return a.Spec.Find(ses.SubAgentName)
}

// newAgent makes an agent of a tree and the digest of its files.
func newAgent(spec *wire.Spec, digest, source string, pack func() ([]byte, error)) *agent {
	a := &agent{pack: pack, Agent: store.Agent{Owner: ownerLocal, Name: spec.Name, Source: source, Digest: digest, Spec: placeless(spec)}}
	switch source {
	case sourceUpload:
		a.ID = shortHash("uploaded:" + ownerLocal + "\x00" + spec.Name + "\x00" + digest + "\x000") // "0": the first of its content
	default:
		a.ID = shortHash("builtin:" + spec.Name)
	}
	return a
}

// parseAgent makes an agent of one YAML file.
func parseAgent(text []byte, source string) (*agent, error) {
	spec, err := agentspec.Parse(text)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return newAgent(spec, hex.EncodeToString(sum[:]), source, func() ([]byte, error) { return agentspec.Bundle(text) }), nil
}

// placeless is a tree without the folders in which it was read: they are this
// machine's alone.
func placeless(spec *wire.Spec) *wire.Spec {
	out := *spec
	out.Dir, out.Agents = "", nil
	for _, a := range spec.Agents {
		out.Agents = append(out.Agents, placeless(a))
	}
	return &out
}

// agents lists what the server offers, each with its version.
func (s *Server) agents(ctx context.Context) ([]*agent, error) {
	list := s.catalog.scan()
	for _, a := range list {
		if err := s.version(ctx, a); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// agent finds the agent of a session as it is now: one that the server offers,
// or an uploaded one. An agent whose file is gone is a 410.
func (s *Server) agent(ctx context.Context, id string) (*agent, error) {
	for _, a := range s.catalog.scan() {
		if a.ID == id {
			return a, s.version(ctx, a)
		}
	}
	row, err := s.db.Read().Agent(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, refuse(404, "not_found", "There is no agent with the id %q.", clip(id, 64))
	}
	if err != nil {
		return nil, err
	}
	if row.Source != sourceUpload {
		return nil, refuse(410, "session_agent_missing",
			"The agent %q is not offered any more: its file is gone from %s, or is broken (the server's log says how).", row.Name, s.catalog.dir)
	}
	if row.Spec == nil {
		return s.oldUpload(ctx, row)
	}
	return &agent{Agent: row}, nil
}

// oldUpload brings an upload from before there were trees, one YAML file, to
// the form of today.
func (s *Server) oldUpload(ctx context.Context, row store.Agent) (*agent, error) {
	text, err := s.db.Read().AgentContent(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	spec, err := agentspec.Parse(text)
	if err != nil {
		return nil, refuse(410, "session_agent_missing", "The agent %q can not be read: %v.", row.Name, err)
	}
	row.Spec = spec
	a := &agent{Agent: row, pack: func() ([]byte, error) { return agentspec.Bundle(text) }}
	return a, s.version(ctx, a)
}

// version notes the content that the server has now, and gives the agent its
// version and times.
func (s *Server) version(ctx context.Context, a *agent) error {
	row, err := s.db.Read().Agent(ctx, a.ID)
	if err == nil && row.Digest == a.Digest && row.Spec != nil {
		row.Spec = a.Spec // an older program may have read less of the same file
		a.Agent = row
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	content, err := a.pack()
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *store.Tx) error { return tx.SawAgent(ctx, &a.Agent, content) })
}

// shortHash is the wire's way to make an id from a name: 32 hex digits.
func shortHash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:32]
}
