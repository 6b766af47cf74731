package server

import "strings"

// The event types that the server acts on (server.md 3).
const (
	typeHeartbeat     = "session.heartbeat"
	typeStatus        = "session.status"
	typeConsumed      = "session.input.consumed"
	typeInterrupted   = "session.interrupted"
	typeCreated       = "session.created"
	typeChildUpdated  = "session.child_session.updated"
	typeInProgress    = "response.in_progress"
	typeCompleted     = "response.completed"
	typeFailed        = "response.failed"
	typeCancelled     = "response.cancelled"
	typeIncomplete    = "response.incomplete"
	typeTextDelta     = "response.output_text.delta"
	typeItemDone      = "response.output_item.done"
	typeResponseError = "response.error"
	typeQuestion      = "response.elicitation_request"
	typeAnswered      = "response.elicitation_resolved"
	typePresence      = "session.presence"
	typeChangedFiles  = "session.changed_files.invalidated"

	typeResourceCreated = "session.resource.created"
	typeResourceDeleted = "session.resource.deleted"
)

// The values of a session's status.
const (
	statusIdle      = "idle"
	statusLaunching = "launching"
	statusRunning   = "running"
	statusWaiting   = "waiting"
	statusFailed    = "failed"
)

func inTurn(status string) bool {
	return status == statusRunning || status == statusWaiting || status == statusLaunching
}

func isTerminal(typ string) bool {
	return typ == typeCompleted || typ == typeFailed || typ == typeCancelled || typ == typeIncomplete
}

// handling says what the relay does with an event that it has no rule for.
type handling int

const (
	drop handling = iota // not for viewers
	pass                 // for viewers, not stored
	keep                 // for viewers, a row
)

// handle sorts a runner's event. An event of a type that is not listed would
// end the streams of upstream's own clients, so it goes no further.
func handle(typ string) handling {
	switch typ {
	case typeHeartbeat, "response.heartbeat":
		return drop
	case "response.function_call_output.delta", "response.reasoning_text.delta", "response.reasoning_summary_text.delta",
		"session.terminal.activity", typePresence:
		return pass
	}
	if passedOn[typ] || strings.HasPrefix(typ, "turn.") {
		return keep
	}
	return drop
}

// passedOn are the types that go from a runner to the viewers as they are.
var passedOn = map[string]bool{
	"session.usage":                   true,
	"session.model":                   true,
	"session.title":                   true,
	"session.reasoning_effort":        true,
	"session.collaboration_mode":      true,
	"session.permission_mode":         true,
	"session.codex_approval_mode":     true,
	"session.agent_changed":           true,
	"session.todos":                   true,
	"session.terminal_pending":        true,
	"session.sandbox_status":          true,
	"session.mcp_startup":             true,
	"session.model_options":           true,
	"session.btw_sidechat":            true,
	"session.interrupted":             true,
	"session.superseded":              true,
	"session.child_session.updated":   true,
	typeChangedFiles:                  true,
	"response.created":                true,
	"response.queued":                 true,
	"response.reasoning.started":      true,
	"response.output_file.done":       true,
	"response.retry":                  true,
	"response.compaction.in_progress": true,
	"response.compaction.completed":   true,
	"response.compaction.failed":      true,
	"response.client_task.cancel":     true,
	"response.policy_denied":          true,
	"browser.action_request":          true,
}
