package fakeserver

import (
	"encoding/json"
	"net/http"
)

// event is POST /v1/sessions/{id}/events, as a runner calls it.
func (s *Server) event(w http.ResponseWriter, r *http.Request, ses *Session) {
	var body struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if !decode(w, r, &body) {
		return
	}
	switch body.Type {
	case "external_conversation_item":
		s.store(w, ses, body.Data)
	case "message":
		s.message(w, ses, body.Data)
	default:
		answer(w, http.StatusAccepted, Dict{"queued": false})
	}
}

// message takes a wake or a child's task: it is an item, and goes to the runner
// before the answer does.
func (s *Server) message(w http.ResponseWriter, ses *Session, raw json.RawMessage) {
	var data struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &data); err != nil || len(data.Content) == 0 {
		refuse(w, http.StatusUnprocessableEntity, "invalid_input", "a message has a content")
		return
	}
	s.mu.Lock()
	id := s.say(ses, data.Content)
	s.mu.Unlock()
	// A runner that is away finds the item when it comes back.
	_, _, err := s.do(http.MethodPost, "/v1/sessions/"+ses.ID+"/events", s.forward(ses.ID, id))
	answer(w, http.StatusAccepted, Dict{"queued": err != nil, "item_id": id})
}

// Verdict is the answer to the next policy question. Unasked questions are
// answered ALLOW.
func (s *Server) Verdict(v Dict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdicts = append(s.verdicts, v)
}

// evaluate is POST /v1/sessions/{id}/policies/evaluate.
func (s *Server) evaluate(w http.ResponseWriter, _ *http.Request, _ *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	verdict := Dict{"result": "POLICY_ACTION_ALLOW"}
	if len(s.verdicts) > 0 {
		verdict, s.verdicts = s.verdicts[0], s.verdicts[1:]
	}
	answer(w, http.StatusOK, verdict)
}

// tool is POST /v1/sessions/{id}/mcp: all tools are the runner's.
func (s *Server) tool(w http.ResponseWriter, r *http.Request, ses *Session) {
	var call struct {
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
			Operation string          `json:"_omnigent_operation_id"`
		} `json:"params"`
	}
	if !decode(w, r, &call) {
		return
	}
	_, text, err := s.do(http.MethodPost, "/v1/sessions/"+ses.ID+"/mcp/execute",
		toolCall(call.Params.Name, call.Params.Operation, string(call.Params.Arguments)))
	var ran struct {
		Result *struct{ Output string } `json:"result"`
		Error  Dict                     `json:"error"`
	}
	switch {
	case err != nil:
		answer(w, http.StatusOK, Dict{"jsonrpc": "2.0", "id": 1, "error": Dict{"code": -32098, "message": "the runner is away"}})
	case json.Unmarshal([]byte(text), &ran) != nil || ran.Result == nil:
		answer(w, http.StatusOK, Dict{"jsonrpc": "2.0", "id": 1, "error": ran.Error})
	default:
		answer(w, http.StatusOK, Dict{"jsonrpc": "2.0", "id": 1, "result": Dict{"content": []Dict{{"type": "text", "text": ran.Result.Output}}}})
	}
}

func toolCall(name, op, args string) Dict {
	return Dict{"method": "tools/call", "params": Dict{"name": name, "arguments": json.RawMessage(args)},
		"_omnigent_operation": Dict{"id": op, "step": "1"}}
}
