package store

import (
	"context"
	"errors"
)

// Agent is an agent's content as last seen.
type Agent struct {
	ID        string
	Owner     string
	Name      string
	Source    string // builtin, file, upload
	Digest    string // sha256 of the content, hex
	Content   []byte // YAML
	Version   int64  // counts the contents seen under this id, from 1
	CreatedAt int64
	UpdatedAt int64
}

// Agent reads one agent as last seen, or ErrNotFound.
func (r reader) Agent(ctx context.Context, id string) (Agent, error) {
	var a Agent
	err := r.q.QueryRowContext(ctx, `SELECT id, owner, name, source, digest, content, version, created_at, updated_at FROM agents WHERE id = ?`, id).
		Scan(&a.ID, &a.Owner, &a.Name, &a.Source, &a.Digest, &a.Content, &a.Version, &a.CreatedAt, &a.UpdatedAt)
	if err != nil {
		return Agent{}, notFound("reading agent "+id, err)
	}
	return a, nil
}

// SawAgent notes an agent's content and gives it the version that it has: the
// stored one while the digest stays the same, else the next.
func (t *Tx) SawAgent(ctx context.Context, a *Agent) error {
	was, err := t.Agent(ctx, a.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		a.Version, a.CreatedAt, a.UpdatedAt = 1, t.now, t.now
	case err != nil:
		return err
	case was.Digest == a.Digest:
		*a = was
		return nil
	default:
		a.Version, a.CreatedAt, a.UpdatedAt = was.Version+1, was.CreatedAt, t.now
	}
	_, err = t.exec("storing agent "+a.Name, `INSERT INTO agents (id, owner, name, source, digest, content, version, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, source = excluded.source,
		digest = excluded.digest, content = excluded.content, version = excluded.version, updated_at = excluded.updated_at`,
		a.ID, a.Owner, a.Name, a.Source, a.Digest, a.Content, a.Version, a.CreatedAt, a.UpdatedAt)
	return err
}
