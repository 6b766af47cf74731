package wire

import "encoding/json"

// Traits are what a harness declares about itself; the core decides on them.
type Traits struct {
	// Resume: an interrupted turn can go on in a new process.
	Resume bool
	// OneMessagePerTurn: each message is its own turn; texts that the runner
	// makes are never sent to it.
	OneMessagePerTurn bool
	// Native: a program in a terminal that keeps its own history.
	Native bool
	// History: each turn is given the conversation so far.
	History bool
	// Steer: a running turn takes further messages (ToHarness.Steer), and tells
	// which it took (InjectionConsumed).
	Steer bool
}

// TurnStart is everything a harness needs to run one turn.
type TurnStart struct {
	Session   string
	Turn      string
	Response  string
	Harness   string // canonical id
	Agent     string
	AgentID   string // a program that was begun for another agent does not serve it
	Prompt    string
	Model     string
	Effort    string
	Workspace string // "" = the runner's own
	SpecDir   string
	Inputs    []Input
	// History is the conversation before the inputs, oldest first, for a
	// harness that declares Traits.History (sessions.md 7.2).
	History []json.RawMessage
	// Tools are the schemas of the runner's tools that the agent may call
	// (harness.md 2.3).
	Tools []json.RawMessage
	// Native is the id under which this harness said that it keeps the
	// conversation (NativeSession), "" when it never did. It outlives the
	// process, and the runner.
	Native string
}

// Input is one message that a turn answers. One without an item is a text of
// the runner's own.
type Input struct {
	ItemID  string          `json:"item_id"`
	Content json.RawMessage `json:"content,omitempty"` // the message's content blocks, or a JSON string
}

// The types of HarnessEvent, a subset of the wire's own vocabulary
// (harness.md 2.4).
const (
	TextDelta      = "response.output_text.delta"
	ReasoningDelta = "response.reasoning_text.delta"
	ItemDone       = "response.output_item.done"
	HeartbeatEvent = "response.heartbeat"
	// ElicitationRequest asks a human. The turn goes on; the answer is an
	// Approval, and none comes after the turn's end.
	ElicitationRequest = "response.elicitation_request"
	// NativeSession is not of the wire: the program keeps the conversation
	// under an id of its own, with which a later process can go on.
	NativeSession = "harness.native_session"
	// InjectionConsumed says that the turn answers a message that it was sent
	// as a Steer. One that it does not take before it ends is a turn of its own.
	InjectionConsumed = "injection.consumed"
	// PolicyRequested asks the server's policies; the answer is a PolicyVerdict.
	PolicyRequested = "policy_evaluation.requested"
)

// HarnessEvent is one frame of a running turn.
type HarnessEvent struct {
	Type     string
	Delta    string          // TextDelta, ReasoningDelta; valid UTF-8
	Item     json.RawMessage // ItemDone
	Ask      *Elicitation    // ElicitationRequest
	Native   string          // NativeSession
	Consumed string          // InjectionConsumed: the id of the Steer
	Policy   *PolicyRequest  // PolicyRequested
}

// PolicyRequest is a question to the server's policies (harness.md 2.4).
type PolicyRequest struct {
	ID    string          // new in the turn
	Phase string          // PHASE_...
	Data  json.RawMessage // as the policies know it for the phase
}

// The actions of an Approval.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Elicitation is a question to a human (harness.md 2.4).
type Elicitation struct {
	ID     string          `json:"elicitation_id"` // new in the session
	Method string          `json:"method"`         // "elicitation/create"
	Params json.RawMessage `json:"params"`
	// Tool is set when the question is whether a tool may be used: the server's
	// policies are asked first, and nobody else when they refuse.
	Tool *ToolUse `json:"-"`
}

// ToolUse is a use of a tool by a program.
type ToolUse struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"arguments"`
}

// Outcome is how a turn ended.
type Outcome string

// The outcomes of a turn.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
	// Resumed: the turn was cut off and another one goes on with its inputs. No
	// harness ends a turn so.
	Resumed Outcome = "resumed"
)

// TurnEnd is the end of a turn as its harness saw it.
type TurnEnd struct {
	Outcome Outcome `json:"outcome"`
	// Error is set when Outcome is Failed.
	Error *TurnError `json:"error,omitempty"`
	// Note is text for a turn that produced no output ("exit 0").
	Note string `json:"note,omitempty"`
	// Usage is what the turn cost, in the words of harness.md 2.4
	// (input_tokens, output_tokens, total_tokens, ...); null when unknown.
	Usage json.RawMessage `json:"usage,omitempty"`
}

// TurnError is the error of a failed turn, shaped as the wire wants it: code
// and message are never empty (sessions.md 14, trap 14).
type TurnError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Type is the harness's own word for the kind of error, where Code is not.
	Type        string `json:"type,omitempty"`
	Title       string `json:"title,omitempty"`
	Cause       string `json:"cause,omitempty"`
	Remediation string `json:"remediation,omitempty"`
}

// Error implements error.
func (e *TurnError) Error() string { return e.Message }

// Codes of turn errors that this project makes. A harness may report its own.
const (
	CodeRunnerRestarted  = "runner_restarted"    // the runner died in the turn
	CodeIdentityUnknown  = "identity_unknown"    // the server could not say which agent this is
	CodeSubAgentNotFound = "sub_agent_not_found" // the tree has no agent of that name
	CodeHarnessUnknown   = "harness_not_configured"
	CodeSpawnFailed      = "harness_spawn_failed" // the program could not be started
	CodeExitStatus       = "exit_status"          // the program ended with a non-zero status
	CodeCrashed          = "harness_crashed"      // the program was ended by a signal that we did not send
	CodeTimeout          = "turn_timeout"         // the program was silent, or ran, for too long
	CodeOutputLimit      = "output_limit"         // the program wrote more than its limit
	CodeInterruptIgnored = "interrupt_ignored"    // the program had to be killed
	CodeContextOverflow  = "context_length_exceeded"
	CodeInternal         = "runner_error"
)
