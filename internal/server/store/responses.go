package store

import (
	"context"
	"database/sql"
	"encoding/json"
)

// The statuses of a response that is not over for good; every other one is how
// it ended.
const (
	InProgress = "in_progress"
	// Lost: it was told to be over since its runner was gone. A runner that
	// comes back with it takes it up again.
	Lost = "lost"
)

// Response is what the server knows of one run of a harness.
type Response struct {
	Session string
	ID      string
	Status  string // InProgress, Lost, or how it ended
	Model   string
	Inputs  []string // the items that it answers
}

// Open says whether its end is still to come.
func (r Response) Open() bool { return r.Status == InProgress || r.Status == Lost }

// Response reads one, or ErrNotFound.
func (r reader) Response(ctx context.Context, session, id string) (Response, error) {
	out, err := scanResponse(r.q.QueryRowContext(ctx, `SELECT session, id, status, model, inputs FROM responses WHERE session = ? AND id = ?`, session, id))
	if err != nil {
		return Response{}, notFound("reading a response", err)
	}
	return out, nil
}

// OpenResponses lists the responses of a session that have not ended.
func (r reader) OpenResponses(ctx context.Context, session string) ([]Response, error) {
	return collect(ctx, r.q, "listing open responses", func(rows *sql.Rows) (Response, error) { return scanResponse(rows) },
		`SELECT session, id, status, model, inputs FROM responses WHERE session = ? AND status = 'in_progress'`, session)
}

// SaveResponse stores a response, new or changed.
func (t *Tx) SaveResponse(r Response) error {
	inputs := r.Inputs
	if inputs == nil {
		inputs = []string{}
	}
	b, err := Encode(inputs)
	if err != nil {
		return err
	}
	_, err = t.exec("storing a response", `INSERT INTO responses (session, id, status, model, inputs) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (session, id) DO UPDATE SET status = excluded.status, model = excluded.model, inputs = excluded.inputs`,
		r.Session, r.ID, r.Status, r.Model, string(b))
	return err
}

func scanResponse(row scanner) (Response, error) {
	var r Response
	var inputs string
	if err := row.Scan(&r.Session, &r.ID, &r.Status, &r.Model, &inputs); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(inputs), &r.Inputs)
}
