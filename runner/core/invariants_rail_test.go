package core

import "fmt"

// I13: what a child's line to its parent's stream tells is never the same twice
// in a row, but for a new dispatch; it names an error if there is one, and null
// while the child is busy; it is published on its own parent's stream only.

// railSeen is what was told last.
type railSeen struct {
	busy   bool
	status string
	err    string
}

func (w *world) tellsParent(e Publish) {
	var ev struct {
		ConversationID string         `json:"conversation_id"`
		ChildID        string         `json:"child_session_id"`
		Child          map[string]any `json:"child"`
	}
	w.decode(e.Event, &ev)
	line, ok := w.rails[ev.ChildID]
	w.must(ok && line.Parent == e.Session && ev.ConversationID == e.Session, "I13", "%s is told on the stream of %s: %+v", ev.ChildID, e.Session, line)
	w.must(w.server.sessions[ev.ChildID].parent == e.Session, "I13", "%s is told on the stream of %s, which is not its parent", ev.ChildID, e.Session)
	now := railSeen{}
	now.busy, _ = ev.Child["busy"].(bool)
	now.status, _ = ev.Child["current_task_status"].(string)
	failure, has := ev.Child["last_task_error"]
	if body, ok := failure.(map[string]any); ok {
		now.err = fmt.Sprint(body["code"], ": ", body["message"])
	}
	switch {
	case now.busy:
		w.must(has && failure == nil, "I13", "a busy %s has the error %v", ev.ChildID, failure)
	case now.status == "failed":
		w.must(!has || now.err != "", "I13", "%s has failed with %v", ev.ChildID, failure)
	default:
		w.must(!has, "I13", "%s is %s and has the error %v", ev.ChildID, now.status, failure)
	}
	before, told := w.edges[ev.ChildID]
	w.must(!told || before != now || now.status == "launching", "I13", "%s is told twice to be %+v", ev.ChildID, now)
	settled := before.status == "failed" || before.status == "cancelled"
	w.must(!settled || now.status != "completed", "I13", "%s is told to have completed after it %s", ev.ChildID, before.status)
	w.edges[ev.ChildID] = now
}
