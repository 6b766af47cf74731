package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// labelForkOf names the session that a fork was made of.
const labelForkOf = "omnigent.fork.source_id"

// forkPage is how many items are copied at a time.
const forkPage = 500

// newFork is what the body of a fork asks for. Keys of hosts and sandboxes are
// read over, as in a create.
type newFork struct {
	Title           string `json:"title"`
	AgentID         string `json:"agent_id"`
	UpTo            string `json:"up_to_response_id"`
	ModelOverride   string `json:"model_override"`
	ReasoningEffort string `json:"reasoning_effort"`
	Workspace       string `json:"workspace"`
}

// forkSession is POST …/fork: a new session with the history and the files of
// another, bound to no runner.
func (s *Server) forkSession(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	raw, err := readJSON(w, r, maxBody)
	if err != nil {
		return err
	}
	var in newFork
	if _, err := readCreate(raw, &in); err != nil {
		return err
	}
	ctx := r.Context()
	source, err := s.db.Read().Session(ctx, id)
	if err != nil {
		return err
	}
	fork := forkOf(source, in)
	a, err := s.agent(ctx, fork.AgentID)
	if err != nil {
		return err
	}
	if fork.SubAgentName == "" {
		fork.AgentName = a.Name
	}
	files, renamed, err := s.forkFiles(ctx, source.ID, fork.ID)
	if err == nil {
		err = s.db.Write(ctx, func(tx *store.Tx) error {
			if err := tx.CreateSession(fork); err != nil {
				return err
			}
			for _, f := range files {
				if err := tx.AddFile(f); err != nil {
					return err
				}
			}
			return copyItems(ctx, tx, source.ID, fork.ID, in.UpTo, renamed)
		})
	}
	if err != nil {
		return errors.Join(err, s.blobs.forget(fork.ID))
	}
	return s.answerSnapshot(w, ctx, http.StatusCreated, fork.ID, snapshotView{items: true, extras: wantsExtras(r), usage: true})
}

// forkOf is the new session: what the source is set to, without what belongs to
// its own life.
func forkOf(source *store.Session, in newFork) *store.Session {
	fork := &store.Session{ID: store.NewID(), Owner: source.Owner, AgentID: firstOf(bareID(in.AgentID), source.AgentID), AgentName: source.AgentName,
		Title: firstOf(in.Title, "Fork of "+firstOf(source.Title, "session")), Status: statusIdle, Outcome: source.Outcome, SubAgentName: source.SubAgentName,
		Workspace: in.Workspace, ModelOverride: firstOf(in.ModelOverride, source.ModelOverride),
		HarnessOverride: source.HarnessOverride, ReasoningEffort: firstOf(in.ReasoningEffort, source.ReasoningEffort),
		Settings: source.Settings, Labels: map[string]string{labelForkOf: source.ID}}
	if in.AgentID != "" {
		fork.SubAgentName = ""
	}
	if fork.Outcome == store.OutcomeOpen {
		fork.Outcome = taskCompleted
	}
	fork.RootID = fork.ID
	for k, v := range source.Labels {
		switch {
		case strings.HasPrefix(k, errorLabelPrefix):
			fork.Labels[k] = "" // the fork has not failed
		case k != labelForkOf && k != labelArchivedAt:
			fork.Labels[k] = v
		}
	}
	return fork
}

// forkFiles copies the files of a session for another: the rows to store, and
// which file became which.
func (s *Server) forkFiles(ctx context.Context, from, to string) ([]*store.File, map[string]string, error) {
	rows, _, err := s.db.Read().Files(ctx, store.FileQuery{Session: from, Ascending: true})
	if err != nil {
		return nil, nil, err
	}
	renamed := make(map[string]string, len(rows))
	for _, f := range rows {
		was := f.ID
		f.ID, f.Session = store.NewID(), to
		if err := s.blobs.copy(from, was, to, f.ID, f.Bytes); err != nil {
			return nil, nil, err
		}
		renamed[was] = f.ID
	}
	return rows, renamed, nil
}

// copyItems copies a history, up to the last item of the response that ends it.
// A message that no runner has taken yet is work of the source, not history.
func copyItems(ctx context.Context, tx *store.Tx, from, to, upTo string, renamed map[string]string) error {
	pending, err := tx.Pending(ctx, from)
	if err != nil {
		return err
	}
	var all []*store.Item
	for q := (store.ItemQuery{Session: from, Limit: forkPage}); ; q.After = all[len(all)-1].ID {
		page, more, err := tx.Items(ctx, q)
		if err != nil {
			return err
		}
		if all = append(all, page...); !more {
			break
		}
	}
	if upTo != "" {
		last := -1
		for n, i := range all {
			if i.ResponseID == upTo {
				last = n
			}
		}
		if last < 0 {
			return badInput("the session has no response %q", clip(upTo, maxResponseID))
		}
		all = all[:last+1]
	}
	for _, i := range all {
		if slices.ContainsFunc(pending, func(p store.Pending) bool { return p.Item.ID == i.ID }) {
			continue
		}
		copied := *i
		copied.ID, copied.Session, copied.Data = "", to, withFiles(i.Data, renamed)
		if copied.ResponseID == from {
			copied.ResponseID = to
		}
		if _, err := tx.AddItem(ctx, &copied); err != nil {
			return err
		}
	}
	return nil
}

// withFiles puts the copies' ids in the place of the files that an item names.
func withFiles(data json.RawMessage, renamed map[string]string) json.RawMessage {
	out := string(data)
	for was, now := range renamed { // ids are random: they stand for nothing else
		out = strings.ReplaceAll(out, `"`+was+`"`, `"`+now+`"`)
	}
	return json.RawMessage(out)
}
