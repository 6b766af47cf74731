package server

import "net/http"

// policyAllow is the verdict that lets something happen.
const policyAllow = "POLICY_ACTION_ALLOW"

// verdict is the policies' answer to any question: there are none here, so
// everything is allowed.
func (s *Server) verdict() string { return policyAllow }

// evaluatePolicies is POST …/policies/evaluate (server.md 2.6).
func (s *Server) evaluatePolicies(w http.ResponseWriter, r *http.Request) error {
	id, err := s.sessionID(r)
	if err != nil {
		return err
	}
	body, err := readObject(w, r, maxEventsBody)
	if err != nil {
		return err
	}
	if _, err := s.db.Read().Session(r.Context(), id); err != nil {
		return err
	}
	if !isNull(body["event"]) {
		event, err := object(body["event"], "event")
		if err != nil {
			return err
		}
		if text(event["type"]) == "PHASE_TOOL_CALL" {
			if data, err := object(event["data"], "data"); err != nil || text(data["name"]) == "" {
				return badInput("a tool call needs data.name")
			}
		}
	}
	answer(w, s.log, http.StatusOK, dict{"result": s.verdict()})
	return nil
}
