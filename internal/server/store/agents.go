package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outrunner/outrunner/runner/wire"
)

// Agent is an agent as last seen, without its content.
type Agent struct {
	ID        string
	Owner     string
	Name      string
	Source    string     // builtin, file, folder, upload
	Digest    string     // sha256 of the content, hex
	Spec      *wire.Spec // nil in a row from before there were trees: its content is one YAML file
	Version   int64      // counts the contents seen under this id, from 1
	CreatedAt int64
	UpdatedAt int64
}

// Agent reads one agent as last seen, or ErrNotFound.
func (r reader) Agent(ctx context.Context, id string) (Agent, error) {
	var a Agent
	var spec string
	err := r.q.QueryRowContext(ctx, `SELECT id, owner, name, source, digest, spec, version, created_at, updated_at FROM agents WHERE id = ?`, id).
		Scan(&a.ID, &a.Owner, &a.Name, &a.Source, &a.Digest, &spec, &a.Version, &a.CreatedAt, &a.UpdatedAt)
	if err != nil {
		return Agent{}, notFound("reading agent "+id, err)
	}
	if spec != "" {
		if err := json.Unmarshal([]byte(spec), &a.Spec); err != nil {
			return Agent{}, fmt.Errorf("tree of agent %s: %w", id, err)
		}
	}
	return a, nil
}

// AgentContent reads an agent's bundle, or ErrNotFound.
func (r reader) AgentContent(ctx context.Context, id string) ([]byte, error) {
	var content []byte
	if err := r.q.QueryRowContext(ctx, `SELECT content FROM agents WHERE id = ?`, id).Scan(&content); err != nil {
		return nil, notFound("reading the content of agent "+id, err)
	}
	return content, nil
}

// SawAgent notes an agent's content, a bundle, and gives it the version that it
// has: the stored one while the digest stays the same, else the next.
func (t *Tx) SawAgent(ctx context.Context, a *Agent, content []byte) error {
	was, err := t.Agent(ctx, a.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		a.Version, a.CreatedAt, a.UpdatedAt = 1, t.now, t.now
	case err != nil:
		return err
	case was.Digest != a.Digest:
		a.Version, a.CreatedAt, a.UpdatedAt = was.Version+1, was.CreatedAt, t.now
	case was.Spec != nil:
		*a = was
		return nil
	default:
		a.Version, a.CreatedAt, a.UpdatedAt = was.Version, was.CreatedAt, was.UpdatedAt
	}
	spec, err := Encode(a.Spec)
	if err != nil {
		return err
	}
	_, err = t.exec("storing agent "+a.Name, `INSERT INTO agents (id, owner, name, source, digest, content, spec, version, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, source = excluded.source,
		digest = excluded.digest, content = excluded.content, spec = excluded.spec, version = excluded.version, updated_at = excluded.updated_at`,
		a.ID, a.Owner, a.Name, a.Source, a.Digest, content, string(spec), a.Version, a.CreatedAt, a.UpdatedAt)
	return err
}
