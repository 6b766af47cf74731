package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/outrunner/outrunner/internal/server/store"
)

// codeRejected is the failure of a message that the runner refused for good.
const codeRejected = "runner_rejected_event"

// maxRunnerAnswer bounds what is read of a runner's answer, in bytes.
const maxRunnerAnswer = 1 << 20

// forward offers the session's pending messages to the runner, oldest first,
// each after the runner has accepted the one before. What it does not accept
// now stays pending and is offered again.
func (l *line) forward(ctx context.Context) {
	wait := l.s.cfg.Timing.ForwardRetry
	for {
		next, err := l.s.db.Read().NextPending(ctx, l.session)
		if err == nil {
			select { // the runner must be heard before it is spoken to
			case <-l.opened():
				err = l.offer(ctx, next)
			case <-ctx.Done():
				return
			case <-l.presence.lost:
				return
			}
		}
		switch {
		case err == nil:
			wait = l.s.cfg.Timing.ForwardRetry
		case errors.Is(err, store.ErrNotFound):
			if !l.sleep(ctx, l.wakeForward, nil) {
				return
			}
		default:
			if ctx.Err() != nil || l.lostNow() {
				return
			}
			l.s.log.Warn("the runner did not take a message yet", "session", l.session, "runner", l.presence.runner, "retry_in", wait, "error", err)
			retry := time.NewTimer(wait)
			ok := l.sleep(ctx, nil, retry.C)
			retry.Stop()
			if !ok {
				return
			}
			wait = min(2*wait, l.s.cfg.Timing.ForwardRetryMax)
		}
	}
}

// offer sends one message and takes its mark away when the runner answers for
// it, well or for good. Any error means: again, later.
func (l *line) offer(ctx context.Context, p store.Pending) error {
	body, err := l.s.forwardBody(ctx, p)
	var gone *apiError
	if errors.As(err, &gone) { // the agent is not there any more
		return l.s.rejectMessage(ctx, p.Item, gone.message)
	}
	if err != nil {
		return err
	}
	status, answer, err := l.presence.post(ctx, l.session, "/events", body, l.s.cfg.Timing.Forward)
	if err != nil {
		return err
	}
	switch {
	case status < 300:
		return l.s.db.Write(ctx, func(tx *store.Tx) error { return settleInput(ctx, tx, l.session, p.Item.ID) })
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status < 400:
		return fmt.Errorf("the runner answered %d: %s", status, reasonOf(answer))
	}
	return l.s.rejectMessage(ctx, p.Item, "Runner rejected the message: "+reasonOf(answer))
}

// rejectMessage is the one outcome of a message that will never be accepted: it
// stays in the history, and its turn has failed.
func (s *Server) rejectMessage(ctx context.Context, i *store.Item, why string) error {
	raw, err := store.Encode(dict{"code": codeRejected, "message": why, "item_id": i.ID})
	if err != nil {
		return err
	}
	te := taskError(raw)
	return s.db.Write(ctx, func(tx *store.Tx) error {
		ses, err := tx.Session(ctx, i.Session)
		if err != nil {
			return err
		}
		if err := settleInput(ctx, tx, i.Session, i.ID); err != nil {
			return err
		}
		if err := storeError(ctx, tx, i.Session, i.ResponseID, "execution", te); err != nil {
			return err
		}
		r := store.Response{Session: i.Session, ID: i.ResponseID, Status: outcome(typeFailed), Model: ses.AgentName, Inputs: []string{i.ID}}
		event := map[string]json.RawMessage{"source": json.RawMessage(`"execution"`)}
		if err := publishEnd(ctx, tx, ses, r, typeFailed, event, map[string]json.RawMessage{"error": te}); err != nil {
			return err
		}
		return applyStatus(ctx, tx, i.Session, statusChange{status: statusFailed, err: te, responseID: i.ResponseID})
	})
}

// forwardBody is the message as a runner gets it (sessions.md 3.1).
func (s *Server) forwardBody(ctx context.Context, p store.Pending) ([]byte, error) {
	ses, err := s.db.Read().Session(ctx, p.Item.Session)
	if err != nil {
		return nil, err
	}
	a, err := s.agent(ctx, ses.AgentID)
	if err != nil {
		return nil, err
	}
	data, err := object(p.Item.Data, "item data")
	if err != nil {
		return nil, err
	}
	content, err := s.inlined(ctx, ses.ID, data["content"])
	if err != nil {
		return nil, err
	}
	body := dict{"type": "message", "role": "user", "content": content, "agent_id": a.ID, "model": a.Name,
		"has_mcp_servers": false, "browser_renderer_available": false, "persisted_item_id": p.Item.ID, "agent_revision": a.revision()}
	for k, v := range map[string]string{"stable_id": p.Item.StableID, "model_override": ses.ModelOverride, "harness_override": ses.HarnessOverride} {
		if v != "" {
			body[k] = v
		}
	}
	if ses.ReasoningEffort != "" {
		body["reasoning"] = dict{"effort": ses.ReasoningEffort}
	}
	for k, v := range p.Extra {
		body[k] = v
	}
	return store.Encode(body)
}

// post sends one JSON body to the runner and reads its answer.
func (pr *presence) post(ctx context.Context, session, path string, body []byte, timeout time.Duration) (int, []byte, error) {
	return pr.ask(ctx, runnerURL(session, path), body, timeout, maxRunnerAnswer)
}

// ask sends one JSON body to a path of the runner and reads at most limit bytes
// of its answer.
func (pr *presence) ask(ctx context.Context, url string, body []byte, timeout time.Duration, limit int64) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("asking the runner: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := pr.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("asking the runner: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, limit))
	if err != nil {
		return 0, nil, fmt.Errorf("reading the runner's answer: %w", err)
	}
	return res.StatusCode, answer, nil
}

// reasonOf is a runner's reason for a refusal: "<error>: <detail>".
func reasonOf(answer []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) != nil {
		return firstOf(clip(string(bytes.ToValidUTF8(bytes.TrimSpace(answer), []byte("?"))), 500), "no reason given")
	}
	code, why := text(fields["error"]), text(fields["detail"])
	if code == "" && !isNull(fields["error"]) {
		var e struct{ Code, Message string }
		if json.Unmarshal(fields["error"], &e) == nil {
			code, why = e.Code, firstOf(why, e.Message)
		}
	}
	if code != "" && why != "" {
		return clip(code+": "+why, 500)
	}
	return clip(firstOf(code, why, string(answer)), 500)
}

// delete tells the runner that a session is gone.
func (pr *presence) delete(ctx context.Context, session string, timeout time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, runnerURL(session, ""), nil)
	if err != nil {
		return 0, fmt.Errorf("asking the runner: %w", err)
	}
	res, err := pr.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("asking the runner: %w", err)
	}
	return res.StatusCode, res.Body.Close()
}
