package wire

import "encoding/json"

// RecordKind names what a record changes.
type RecordKind string

// The kinds of record. Each is the only way in which the part of the durable
// state that it names ever changes; core.apply is the one place that reads them.
const (
	RecSession    RecordKind = "session"  // State: the whole durable state of a session (a checkpoint)
	RecGone       RecordKind = "gone"     // the session was deleted
	RecIdentity   RecordKind = "identity" // State: what decides harness and model
	RecCursor     RecordKind = "cursor"   // Cursor
	RecItem       RecordKind = "item"     // Item is now in ItemState; Content kept while it may still run
	RecOrder      RecordKind = "order"    // Inputs: the queued items, in the order in which they run
	RecOpened     RecordKind = "opened"   // Turn is open: Response, Inputs; Content: the text of ours that it runs on instead
	RecTook       RecordKind = "took"     // Turn answers the queued Item, too
	RecCalled     RecordKind = "called"   // Turn's program has begun to use a tool of its own
	RecAsked      RecordKind = "asked"    // State: Turn's program asked the question Source
	RecSettled    RecordKind = "settled"  // State: the action that settled the question Source of Turn
	RecNative     RecordKind = "native"   // State: the conversation that the session's harness keeps
	RecOut        RecordKind = "out"      // Out joins the outbox of Turn
	RecStored     RecordKind = "stored"   // the outbox entry Source was acknowledged, or given up
	RecEnded      RecordKind = "ended"    // Turn ended as End says
	RecSeen       RecordKind = "seen"     // the server has the terminal response of Turn
	RecRecoveryID RecordKind = "recovery" // Source: this recovery id is used up
	RecChild      RecordKind = "child"    // State: the session's work for its parent
	RecRail       RecordKind = "rail"     // State: the session's line to its parent's stream
	RecResult     RecordKind = "result"   // State: a payload joins the session's inbox
	RecDrained    RecordKind = "drained"  // State: what a reading of the inbox took and said
	RecReturned   RecordKind = "returned" // what the open turn took from the inbox is there again, marked
)

// ItemState is where a user's item stands.
type ItemState string

// The states of an item.
const (
	ItemHistory  ItemState = "history"  // never to be run here
	ItemQueued   ItemState = "queued"   // accepted, not started
	ItemInTurn   ItemState = "in_turn"  // an open turn answers it
	ItemAnswered ItemState = "answered" // a turn over it has ended
)

// Record is one durable change. The journal keeps records in order and knows
// only Kind and Session; a restart folds them over an empty state.
type Record struct {
	Kind      RecordKind      `json:"kind"`
	Session   string          `json:"session"`
	Turn      string          `json:"turn,omitempty"`
	Response  string          `json:"response,omitempty"`
	Item      string          `json:"item,omitempty"`
	ItemState ItemState       `json:"item_state,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
	Cursor    string          `json:"cursor,omitempty"`
	Source    string          `json:"source,omitempty"`
	Inputs    []string        `json:"inputs,omitempty"`
	Out       *Outgoing       `json:"out,omitempty"`
	End       *TurnEnd        `json:"end,omitempty"`
	State     json.RawMessage `json:"state,omitempty"`
}
