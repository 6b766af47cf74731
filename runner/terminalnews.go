package runner

import (
	"encoding/json"
	"fmt"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// The events about terminals on a session's stream (terminals.md 2.4).

// createdEvent tells of a terminal. One that is only found again is in the
// history already.
func createdEvent(t wire.Terminal, isNew bool) core.Told {
	return told(t.Session, true, struct {
		Type     string   `json:"type"`
		Resource resource `json:"resource"`
		Persist  *bool    `json:"persist_resource_event,omitempty"`
	}{"session.resource.created", terminalResource(t), unless(isNew)})
}

// unless is false, or nothing.
func unless(ok bool) *bool {
	if ok {
		return nil
	}
	return &ok
}

func deletedEvent(t wire.Terminal) core.Told {
	return told(t.Session, true, struct {
		Type         string `json:"type"`
		ResourceID   string `json:"resource_id"`
		ResourceType string `json:"resource_type"`
		Session      string `json:"session_id"`
	}{"session.resource.deleted", t.ID(), typeTerminal, t.Session})
}

func activityEvent(t wire.Terminal) core.Told {
	return told(t.Session, false, struct {
		Type     string `json:"type"`
		Session  string `json:"session_id"`
		Terminal string `json:"terminal_id"`
	}{"session.terminal.activity", t.Session, t.ID()})
}

func told(session string, keep bool, event any) core.Told {
	raw, err := json.Marshal(event)
	if err != nil {
		panic(fmt.Sprintf("runner: encoding an event: %v", err))
	}
	return core.Told{Session: session, Event: raw, Keep: keep}
}
