package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/outrunner/outrunner/internal/server/store"
	"github.com/outrunner/outrunner/runner/wire"
)

// onExternalStatus takes a status that a program beside the turn reports, mostly
// one that watches a terminal, publishes it and passes it on to the session's
// runner. The end of a sub-agent's turn must arrive there: it carries the result
// for the parent, so an end that could not be delivered is a 503, and whoever
// reported it does so again.
func (s *Server) onExternalStatus(ctx context.Context, _ Principal, session string, ev inputEvent) (dict, error) {
	fields, err := object(ev.Data, "data")
	if err != nil {
		return nil, err
	}
	ch, ok := readStatus(fields)
	if !ok || ch.status == statusLaunching {
		return nil, badInput("external_session_status: unknown status %q; it is idle, running, waiting or failed", clip(text(fields["status"]), 64))
	}
	ch.external = true
	if n, err := strconv.Atoi(string(fields["background_task_count"])); err == nil && n > 0 && ch.status == statusWaiting {
		ch.status = statusIdle // the turn is over; what goes on is told by the count
		fields["status"] = json.RawMessage(`"idle"`)
	}
	var ses *store.Session
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := applyStatus(ctx, tx, session, ch); err != nil {
			return err
		}
		if ses, err = tx.Session(ctx, session); err != nil {
			return err
		}
		return noteExternalEnd(ctx, tx, ses, ch)
	})
	if err != nil {
		return nil, err
	}
	if err := s.addOutput(ctx, session, ch, fields); err != nil {
		return nil, err
	}
	body, err := store.Encode(dict{"type": "external_session_status", "data": fields, "model_override": nil, "tools": nil, "created_by": nil})
	if err != nil {
		return nil, err
	}
	if !mustArrive(ses, ch) {
		if pr := s.presences.get(ses.RunnerID); pr != nil {
			if status, _, err := pr.post(ctx, session, "/events", body, s.cfg.Timing.Control); !delivered(status, err) {
				s.log.Warn("the runner did not take a status", "session", session, "status", status, "error", err)
			}
		}
		return dict{"queued": false}, nil
	}
	if err := s.deliverEnd(ctx, ses, body); err != nil {
		return nil, err
	}
	return dict{"queued": false}, nil
}

// mustArrive says whether a status is the end of a sub-agent's turn that its
// parent waits for. The children that live inside of codex and devin report to
// their parents themselves.
func mustArrive(ses *store.Session, ch statusChange) bool {
	switch ses.Labels[labelWrapper] {
	case "codex-native-ui-subagent", "devin-native-ui-subagent":
		return false
	}
	return ses.ParentID != "" && (ch.status == statusIdle || ch.status == statusFailed)
}

// noteExternalEnd tells the parent's history of a turn that ended, where no
// response tells it.
func noteExternalEnd(ctx context.Context, tx *store.Tx, ses *store.Session, ch statusChange) error {
	if ses.ParentID == "" || ch.status != statusIdle && ch.status != statusFailed {
		return nil
	}
	turn := ch.responseID
	if turn == "" { // the newest item stands for the turn
		last, err := tx.LastItems(ctx, ses.ID, 1)
		if err != nil || len(last) == 0 {
			return err
		}
		turn = firstOf(last[0].ResponseID, last[0].ID)
	}
	how := firstOf(text(ch.extra["turn_outcome"]), taskCompleted)
	if ch.status == statusFailed {
		how = taskFailed
	}
	return noteReturned(ctx, tx, ses, turn, taskOutcome(how))
}

// addOutput gives the end of a turn the text that it left: what the reporter
// says, else the newest answer. A turn that did not complete has only what it
// said itself, or why it failed.
func (s *Server) addOutput(ctx context.Context, session string, ch statusChange, fields map[string]json.RawMessage) error {
	if ch.status != statusIdle && ch.status != statusFailed || !isNull(fields["output"]) {
		return nil
	}
	how := text(fields["turn_outcome"])
	broken := ch.status == statusFailed || how == taskFailed || how == taskCancelled
	if why := text(fields["failure_detail"]); broken && why != "" {
		fields["output"] = fields["failure_detail"]
		return nil
	}
	last, err := s.db.Read().LastAnswer(ctx, session, broken)
	if err != nil {
		return ignoreNotFound(err)
	}
	data, err := object(last.Data, "item data")
	if err != nil {
		return err
	}
	fields["output"], err = store.Encode(wire.Text(data["content"]))
	return err
}

// deliverEnd gives the end of a sub-agent's turn to its runner. When that can
// not be reached, the runner of its parent, then that of the root, may take it,
// and the child with it. One that has answered is never passed over.
func (s *Server) deliverEnd(ctx context.Context, ses *store.Session, body []byte) error {
	if pr := s.presences.get(ses.RunnerID); pr != nil {
		if done, err := s.offerEnd(ctx, pr, ses.ID, body); done {
			return err
		}
	}
	tried := make(map[string]bool)
	for _, id := range []string{ses.ParentID, ses.RootID} {
		above, err := s.db.Read().Session(ctx, id)
		if err != nil {
			return err
		}
		if above.RunnerID == "" || tried[above.RunnerID] {
			continue
		}
		tried[above.RunnerID] = true
		pr := s.presences.await(ctx, above.RunnerID, s.cfg.Timing.Control)
		if pr == nil {
			continue
		}
		if above.RunnerID != ses.RunnerID {
			if err := s.rebind(ctx, ses.ID, above.RunnerID); err != nil {
				return err
			}
		}
		if done, err := s.offerEnd(ctx, pr, ses.ID, body); done {
			return err
		}
	}
	return statusNotTaken("no runner of it or of its parents can be reached")
}

// offerEnd offers the end to one runner; done says that the runner has answered.
func (s *Server) offerEnd(ctx context.Context, pr *presence, session string, body []byte) (done bool, err error) {
	status, answer, err := pr.post(ctx, session, "/events", body, s.cfg.Timing.Control)
	switch {
	case err != nil:
		s.log.Warn("a sub-agent's status did not reach the runner", "session", session, "runner", pr.runner, "error", err)
		return false, nil
	case status >= http.StatusBadRequest:
		return true, statusNotTaken(fmt.Sprintf("the runner answered %d: %s", status, reasonOf(answer)))
	}
	return true, nil
}

func statusNotTaken(why string) error {
	return refuse(http.StatusServiceUnavailable, "runner_unavailable", "The sub-agent's status was not taken: %s.", why)
}
