package acp

import "encoding/json"

// maxTokens is more than any context has.
const maxTokens = 1e12

// spending takes what the agent says about its context and the session's cost.
func (r *Run) spending(s *peer, raw json.RawMessage) {
	var u struct {
		Used float64 `json:"used"`
		Cost *struct {
			Amount   float64 `json:"amount"`
			Currency string  `json:"currency"`
		} `json:"cost"`
	}
	// A part of another form is left out.
	_ = json.Unmarshal(raw, &u)
	if u.Used > 0 && u.Used < maxTokens {
		r.context = int(u.Used)
	}
	if u.Cost == nil || u.Cost.Currency != "USD" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// It is the whole session's. One that was loaded has a past, and what that
	// has cost is known only once the agent has said it.
	if s.costKnown && u.Cost.Amount >= s.cost {
		r.cost += u.Cost.Amount - s.cost
		r.costs = true
	}
	s.cost, s.costKnown = u.Cost.Amount, true
}

// spent is what the turn has cost, in the words of harness.md 2.4, nil when
// nothing is known.
func (r *Run) spent() json.RawMessage {
	out := map[string]any{}
	r.mu.Lock()
	usage, s := r.usage, r.peer
	r.mu.Unlock()
	if usage != nil {
		out["input_tokens"], out["output_tokens"], out["total_tokens"] = usage.InputTokens, usage.OutputTokens, usage.TotalTokens
		if n := usage.CachedReadTokens; n != nil {
			out["cache_read_input_tokens"] = *n
		}
		if n := usage.CachedWriteTokens; n != nil {
			out["cache_creation_input_tokens"] = *n
		}
	}
	if r.context > 0 {
		out["context_tokens"] = r.context
	}
	if r.costs {
		out["cost_usd"] = r.cost
	}
	if len(out) == 0 {
		return nil
	}
	if s != nil && s.activeModel() != "" {
		out["model"] = s.activeModel()
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil // a cost that is no number
	}
	return raw
}
