package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// CodeModel is the code of a turn whose model its agent does not have.
const CodeModel = "model_unavailable"

// modelOption is the configuration option that chooses a model.
const modelOption = "model"

// maxModels bounds how many models are named in a sentence.
const maxModels = 20

// modelState is what an agent has said about its models.
type modelState struct {
	active, initial string   // "" when it has not said
	listed          []string // those that it lists; another may be good all the same
	set             bool     // it listed them under models: session/set_model is for them
	option          bool     // it has the configuration option
	options         bool     // it has told its options
	fixed           bool     // it could not switch, and was not asked again
}

// learn takes what a session's begin says about models.
func (s *peer) learn(answer sessionAnswer) {
	var models struct {
		Available []struct {
			ID string `json:"modelId"`
		} `json:"availableModels"`
		Current string `json:"currentModelId"`
	}
	_ = json.Unmarshal(answer.Models, &models) // absent, or of another form: then none are known
	s.mu.Lock()
	for _, m := range models.Available {
		if m.ID != "" {
			s.model.listed = append(s.model.listed, m.ID)
		}
	}
	s.model.set = len(s.model.listed) > 0
	s.model.active = models.Current
	s.mu.Unlock()
	s.learnOptions(answer.ConfigOptions)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.initial = s.model.active
}

// learnOptions takes the configuration options, whose model is the one that is
// really used. It returns that, or "" when nothing was said of it.
func (s *peer) learnOptions(raw json.RawMessage) (current string) {
	var options []struct {
		ID      string          `json:"id"`
		Current json.RawMessage `json:"currentValue"`
		Options json.RawMessage `json:"options"`
	}
	if json.Unmarshal(raw, &options) != nil || options == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.options = true
	for _, o := range options {
		if o.ID != modelOption {
			continue
		}
		s.model.option = true
		if json.Unmarshal(o.Current, &current) == nil && current != "" {
			s.model.active = current
		}
		if values := valuesOf(o.Options); len(values) > 0 && !s.model.set {
			s.model.listed = values
		}
	}
	return current
}

// valuesOf are the values of an option, which may be in groups.
func valuesOf(raw json.RawMessage) (values []string) {
	var list []struct {
		Value   string          `json:"value"`
		Options json.RawMessage `json:"options"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for _, o := range list {
		if o.Value != "" {
			values = append(values, o.Value)
		} else if len(o.Options) > 0 {
			values = append(values, valuesOf(o.Options)...)
		}
	}
	return values
}

func (s *peer) activeModel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model.active
}

func (s *peer) setActive(model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model.active = model
}

// wantedModel is the model of this turn.
func (r *Run) wantedModel(initial string) string {
	for _, model := range []string{r.start.Model, r.opts.Model} {
		if model != "" {
			return model
		}
	}
	return initial
}

// choose has the agent use the turn's model. One that it cannot use ends the
// turn if the agent has said which it has; else it may be that it has no choice
// at all, and the turn goes on.
func (r *Run) choose(ctx context.Context, s *peer) error {
	s.mu.Lock()
	m := s.model
	s.mu.Unlock()
	model := r.wantedModel(m.initial)
	switch {
	case model == "" || model == m.active || m.fixed:
		return nil
	case !m.set && m.options && !m.option:
		return r.keepModel(s, m, model, fmt.Errorf("it has no option for that"))
	}
	method, params := acp.AgentMethodSessionSetConfigOption, any(map[string]string{
		"sessionId": s.sessionID(), "configId": modelOption, "value": model,
	})
	if m.set {
		method, params = acp.AgentMethodSessionSetModel, map[string]string{"sessionId": s.sessionID(), "modelId": model}
	}
	raw, err := request(ctx, s, handshakeTimeout, method, params, nil, nil)
	if err != nil {
		if !isReply(err) {
			return r.refused(s, method, err)
		}
		return r.keepModel(s, m, model, fmt.Errorf("it says: %s", replyText(err)))
	}
	if m.set {
		s.setActive(model)
		return nil
	}
	var answer sessionAnswer
	_ = json.Unmarshal(raw, &answer) // an agent may answer nothing
	switch current := s.learnOptions(answer.ConfigOptions); {
	case current == "":
		s.setActive(model)
	case current != model:
		return r.keepModel(s, m, model, fmt.Errorf("it went on with %q", excerpt(current)))
	}
	return nil
}

// keepModel is what becomes of a turn whose agent did not switch.
func (r *Run) keepModel(s *peer, m modelState, model string, why error) error {
	if len(m.listed) > 0 {
		known := slices.Clone(m.listed[:min(len(m.listed), maxModels)])
		for i := range known {
			known[i] = excerpt(known[i])
		}
		more := ""
		if len(m.listed) > maxModels {
			more = fmt.Sprintf(", and %d more", len(m.listed)-maxModels)
		}
		return fail(CodeModel, fmt.Sprintf("%s cannot use the model %q; %v", r.cfg.Command[0], model, why),
			fmt.Sprintf("Choose one that it has: %s%s.", strings.Join(known, ", "), more))
	}
	s.mu.Lock()
	s.model.fixed = true
	s.mu.Unlock()
	r.Log.Warn("an agent does not let its model be chosen and goes on with its own", "model", model, "err", why)
	return nil
}
