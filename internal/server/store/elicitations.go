package store

import (
	"context"
	"database/sql"
	"encoding/json"
)

// Elicitation is a question to a human that nobody has answered yet, as one
// session shows it.
type Elicitation struct {
	ID      string
	Session string          // where it is shown
	Target  string          // the session that asks
	Turn    bool            // the end of the asking turn ends the question
	Event   json.RawMessage // the request as Session shows it
}

const elicitationColumns = `id, session, target, turn, event`

func scanElicitation(row scanner) (Elicitation, error) {
	var e Elicitation
	var event string
	err := row.Scan(&e.ID, &e.Session, &e.Target, &e.Turn, &event)
	e.Event = json.RawMessage(event)
	return e, err
}

func scanElicitations(rows *sql.Rows) (Elicitation, error) { return scanElicitation(rows) }

// Elicitations lists the questions that a session shows, oldest first.
func (r reader) Elicitations(ctx context.Context, session string) ([]Elicitation, error) {
	return collect(ctx, r.q, "listing questions", scanElicitations,
		`SELECT `+elicitationColumns+` FROM elicitations WHERE session = ? ORDER BY n`, session)
}

// Elicitation reads a question that a session shows, or ErrNotFound.
func (r reader) Elicitation(ctx context.Context, session, id string) (Elicitation, error) {
	e, err := scanElicitation(r.q.QueryRowContext(ctx,
		`SELECT `+elicitationColumns+` FROM elicitations WHERE session = ? AND id = ?`, session, id))
	if err != nil {
		return Elicitation{}, notFound("reading question "+id, err)
	}
	return e, nil
}

// Asked lists the questions that a session's turn asks, oldest first.
func (r reader) Asked(ctx context.Context, target string) ([]Elicitation, error) {
	return collect(ctx, r.q, "listing a turn's questions", scanElicitations,
		`SELECT `+elicitationColumns+` FROM elicitations WHERE session = ?1 AND target = ?1 AND turn = 1 ORDER BY n`, target)
}

// Ask stores a question, and says whether the session did not show it yet.
func (t *Tx) Ask(e Elicitation) (added bool, err error) {
	n, err := t.exec("storing a question", `INSERT INTO elicitations (`+elicitationColumns+`) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		e.ID, e.Session, e.Target, e.Turn, string(e.Event))
	return n > 0, err
}

// Answered removes a question that a session asks from every session that
// shows it, and lists those.
func (t *Tx) Answered(ctx context.Context, target, id string) ([]string, error) {
	return collect(ctx, t.q, "removing a question", func(rows *sql.Rows) (string, error) {
		var session string
		err := rows.Scan(&session)
		return session, err
	}, `DELETE FROM elicitations WHERE target = ? AND id = ? RETURNING session`, target, id)
}
