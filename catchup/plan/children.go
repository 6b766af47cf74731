package plan

// WorkState is what the journal says of a child's work for its parent.
type WorkState int

// The states of work, as table C tells them apart.
const (
	NoWork    WorkState = iota
	Stamped             // dispatched; whether its message was sent is not sure
	Live                // not finished
	Waiting             // not finished, as the server last said
	Finished            // finished, not delivered
	Delivered           // delivered, not read
)

// Child is what is known of one child of a parent.
type Child struct {
	// Internal: a harness's own inner child (wrapper *-ui-subagent).
	Internal bool
	Work     WorkState
	WorkID   string
	// Drained is the id of the work whose result was read here last.
	Drained string
	// Dispatch and Receipt are the server's labels: the id that was given out,
	// and the one whose result was read.
	Dispatch, Receipt string
	// Ended: the server calls it completed, failed or cancelled, and not by the
	// runner's absence.
	Ended bool
	// Interrupted: in progress, or failed with runner_disconnected or
	// runner_failed_to_start.
	Interrupted bool
	// MessageSent: the child has a user item after the stamp (row 4).
	MessageSent bool
	// Dead: nothing of it is alive here, and nobody will resume it.
	Dead bool
}

// DoChild is what is to be done for a child.
type DoChild int

// The decisions of table C.
const (
	LeaveChild   DoChild = iota
	HandOver             // deliver what the journal has, as soon as the inbox exists
	WriteReceipt         // the server has no receipt of what was read
	WasLaunched          // the message was sent
	NotSent              // it was not: failed, with a receipt
	AwaitEdge            // a live edge decides
	EndLease             // failed: the child is gone
	Adopt                // deliver what the server has, under its id
	AwaitChild           // waiting, under the server's id
)

// ReconcileChild decides what becomes of a child's result. It is table C of
// the design, first match wins.
func ReconcileChild(c Child) DoChild {
	switch d, v := c.Dispatch, c.Receipt; {
	// 1
	case c.Internal:
		return LeaveChild
	// 2
	case c.Work == Delivered, c.Work == Finished:
		return HandOver
	// 3
	case c.Work == NoWork && c.Drained != "" && (d == "" || d == c.Drained):
		if v != c.Drained {
			return WriteReceipt
		}
		return LeaveChild
	// 4
	case c.Work == Stamped && c.MessageSent:
		return WasLaunched
	case c.Work == Stamped:
		return NotSent
	// 5
	case c.Work == Live && (d == "" || d == c.WorkID):
		if c.Dead {
			return EndLease
		}
		return AwaitEdge
	case c.Work == Waiting && d == c.WorkID && v != d && c.Ended:
		return Adopt
	case c.Work == Waiting:
		return AwaitEdge
	case c.Work == Live: // the label differs: our stamp was confirmed, so ours stands
		return AwaitEdge
	// 6
	case d != "" && v != d && c.Ended:
		return Adopt
	// 7
	case d != "" && v != d && c.Interrupted:
		return AwaitChild
	}
	// 8
	return LeaveChild
}
