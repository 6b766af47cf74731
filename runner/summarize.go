package runner

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/outrunner/outrunner/runner/wire"
)

// summarize lends the server a language model, with which it makes room in a
// conversation (sessions.md 2). It touches no session: the summary is the
// server's to store, and comes back as the compaction item of a later scan.
func (r *Runner) summarize(w http.ResponseWriter, req *http.Request) {
	body, ok := readObject(w, req)
	if !ok {
		return
	}
	ask, err := decodeSummary(body)
	if err != nil {
		refuse(w, invalid(err.Error()))
		return
	}
	sum, err := r.cfg.Summarizer.Summarize(req.Context(), ask)
	switch {
	case req.Context().Err() != nil:
		// Nobody waits any more.
	case err == nil:
		writeJSON(w, http.StatusOK, sum)
	case errors.Is(err, wire.ErrRejected):
		r.log.Warn("a summary cannot be made", "model", ask.Model, "error", err)
		refuse(w, invalid(err.Error()))
	default:
		r.log.Warn("a summary failed", "model", ask.Model, "error", err)
		refuse(w, &apiError{http.StatusBadGateway, "summary_failed", err.Error()})
	}
}

func decodeSummary(body map[string]json.RawMessage) (ask wire.SummaryRequest, err error) {
	if json.Unmarshal(body["messages"], &ask.Messages) != nil || ask.Messages == nil {
		return ask, errors.New("the messages to sum up must be a list")
	}
	if json.Unmarshal(body["model"], &ask.Model) != nil || ask.Model == "" {
		return ask, errors.New("a summary needs the name of a model")
	}
	if raw := body["connection"]; raw != nil && json.Unmarshal(raw, &ask.Connection) != nil {
		return ask, errors.New("the connection must be an object with api_key and base_url")
	}
	return ask, nil
}
