package server

import (
	"encoding/json"

	"github.com/outrunner/outrunner/internal/server/store"
)

// errorLabels are the labels in which the API repeats a session's last error,
// "" for what it does not have (server.md 2.2). They are there from the first
// turn on; the truth is the session's error.
var errorLabels = []string{"code", "message", "title", "cause", "remediation", "agent_name", "item_id", "runner_id"}

const errorLabelPrefix = "omnigent.last_task_error_"

// labelError brings the labels in line with an error; nil clears them.
func labelError(tx *store.Tx, ses *store.Session, taskError json.RawMessage) error {
	var fields map[string]json.RawMessage
	if len(taskError) > 0 {
		if err := json.Unmarshal(taskError, &fields); err != nil {
			return err
		}
	}
	changed := make(map[string]string)
	for _, k := range errorLabels {
		v := text(fields[k])
		if fields != nil {
			switch k {
			case "agent_name":
				v = firstOf(v, ses.AgentName)
			case "runner_id":
				v = ses.RunnerID
			}
		}
		if was, ok := ses.Labels[errorLabelPrefix+k]; !ok || was != v {
			changed[errorLabelPrefix+k] = v
		}
	}
	if len(changed) == 0 {
		return nil
	}
	for k, v := range changed {
		if ses.Labels == nil {
			ses.Labels = make(map[string]string)
		}
		ses.Labels[k] = v
	}
	return tx.SetLabels(ses.ID, changed)
}

// lastError is a session's last error as the API shows it: with the agent that
// failed.
func lastError(ses *store.Session) any {
	var fields map[string]json.RawMessage
	if json.Unmarshal(ses.Error, &fields) != nil {
		return rawOrNull(ses.Error)
	}
	if isNull(fields["agent_name"]) && ses.AgentName != "" {
		if name, err := store.Encode(ses.AgentName); err == nil {
			fields["agent_name"] = name
		}
	}
	return fields
}
