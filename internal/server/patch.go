package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/internal/server/store"
)

// patchSession is PATCH /v1/sessions/{id} (server.md 2.3). A key that is not
// known is a 422.
func (s *Server) patchSession(w http.ResponseWriter, r *http.Request) error {
	id, fields, err := s.sessionBody(w, r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	var runner *string
	if v, ok := fields["runner_id"]; ok && !isNull(v) {
		name := text(v)
		if name != "" {
			if err := s.checkRunner(ctx, name); err != nil {
				return err
			}
		}
		runner = &name
	}
	var tell []dict
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		tell = nil
		ses, err := tx.Session(ctx, id)
		if err != nil {
			return err
		}
		for k, v := range fields {
			if isNull(v) && known(k) { // as if it were not there
				continue
			}
			event, err := patchField(tx, ses, k, v)
			if err != nil {
				return err
			}
			if event != nil {
				tell = append(tell, event)
			}
		}
		if _, renamed := fields["title"]; renamed {
			if err := checkTitle(ctx, tx, ses); err != nil {
				return err
			}
		}
		return tx.SaveSession(ses)
	})
	if err != nil {
		return err
	}
	if runner != nil {
		if *runner == "" {
			s.detach(id)
		}
		s.introduceBound(ctx, id, *runner)
		s.attach(id, *runner)
	}
	if string(fields["silent"]) != "true" {
		for _, event := range tell {
			s.tellRunner(ctx, id, event)
		}
	}
	if string(fields["archived"]) == "true" {
		s.stopArchived(id)
	}
	return s.answerSnapshot(w, ctx, http.StatusOK, id, snapshotView{usage: true, extras: wantsExtras(r)})
}

// patchField changes one key of a session; event is what the runner is told.
func patchField(tx *store.Tx, ses *store.Session, key string, v json.RawMessage) (event dict, err error) {
	str := func(to *string) error {
		return json.Unmarshal(v, to)
	}
	switch key {
	case "title":
		err = str(&ses.Title)
	case "runner_id":
		err = str(&ses.RunnerID)
	case "workspace":
		err = str(&ses.Workspace)
	case "external_session_id":
		was := ses.ExternalSessionID
		if err = str(&ses.ExternalSessionID); err == nil && was != "" && was != ses.ExternalSessionID {
			return nil, badInput("external_session_id is %q and stays so", was)
		}
	case "archived":
		if err = json.Unmarshal(v, &ses.Archived); err == nil {
			return nil, labelArchived(tx, ses)
		}
	case "model_override":
		if err = str(&ses.ModelOverride); err == nil {
			if slices.Contains(clearWords, ses.ModelOverride) {
				ses.ModelOverride = ""
			}
			event = dict{"type": "model_change", "model": orNull(ses.ModelOverride)}
		}
	case "reasoning_effort":
		if err = str(&ses.ReasoningEffort); err == nil {
			if ses.ReasoningEffort, err = checkEffort(ses.ReasoningEffort); err != nil {
				return nil, err
			}
			event = dict{"type": "effort_change", "effort": orNull(ses.ReasoningEffort)}
		}
	case "labels":
		var labels map[string]string
		if err = json.Unmarshal(v, &labels); err == nil {
			if err := checkLabels(labels); err != nil {
				return nil, err
			}
			return nil, tx.SetLabels(ses.ID, labels)
		}
	case "silent", "delete_worktree":
		var ignored bool
		err = json.Unmarshal(v, &ignored)
	default:
		if !slices.Contains(keptSettings, key) {
			return nil, invalid(key, "extra_forbidden", "Extra inputs are not permitted").given(v)
		}
		if ses.Settings == nil {
			ses.Settings = make(map[string]json.RawMessage)
		}
		ses.Settings[key] = v
	}
	if err != nil {
		return nil, invalid(key, "type_error", "Input is not of the right type").given(v)
	}
	return event, nil
}

// clearWords stand for no choice of a model or an effort.
var clearWords = []string{"default", "off", "reset"}

// efforts are the words for how hard a model is to think.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}

// checkEffort is the effort to store, "" for none chosen.
func checkEffort(given string) (string, error) {
	if given == "" || slices.Contains(clearWords, given) {
		return "", nil
	}
	if !slices.Contains(efforts, given) {
		return "", badInput("reasoning_effort %q is unknown; it is one of: %s", clip(given, 64), strings.Join(efforts, ", "))
	}
	return given, nil
}

// patchKeys are the keys of a patch that change a row.
var patchKeys = []string{"title", "runner_id", "workspace", "external_session_id", "archived", "model_override", "reasoning_effort", "labels",
	"silent", "delete_worktree"}

func known(key string) bool {
	return slices.Contains(patchKeys, key) || slices.Contains(keptSettings, key)
}

// tellRunner tells a session's runner of a changed setting. The next message
// carries it too, so a runner that does not take it now misses nothing.
func (s *Server) tellRunner(ctx context.Context, session string, event dict) {
	if status, here, err := s.control(ctx, session, event); here && !delivered(status, err) {
		s.log.Warn("the runner did not take a setting", "session", session, "event", event["type"], "status", status, "error", err)
	}
}
