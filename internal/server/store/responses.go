package store

import (
	"context"
	"database/sql"
	"encoding/json"
)

// InProgress is the status of a response that has not ended.
const InProgress = "in_progress"

// Response is what the server knows of one run of a harness.
type Response struct {
	Session string
	ID      string
	Status  string // InProgress, or how it ended
	Model   string
	Inputs  []string // the items that it answers
}

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
		`SELECT session, id, status, model, inputs FROM responses WHERE session = ? AND status = ?`, session, InProgress)
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
