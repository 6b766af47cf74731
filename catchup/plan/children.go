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
}

// DoChild is what is to be done for a child.
type DoChild int

// The decisions of table C.
const (
	LeaveChild   DoChild = iota
	HandOver             // deliver what the journal has, as soon as the inbox exists
	WriteReceipt         // the server has no receipt of what was read
	AwaitEdge            // the child itself decides: its items, its turn, a live edge
	Adopt                // deliver what the server has, under its id
	AwaitChild           // waiting, under the server's id
)

// ReconcileChild decides what becomes of a child's result, as far as its parent's
// list of children can tell. It is table C of the design, first match wins.
// Whether a task was sent (row 4), and whether anything of a child is alive (row
// 5), is seen in the child's own items and turns: runner/core decides it in the
// scan of the child.
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
	// 4, 5; where the label differs ours stands: its stamp was confirmed
	case c.Work == Waiting && d == c.WorkID && v != d && c.Ended:
		return Adopt
	case c.Work == Stamped, c.Work == Live, c.Work == Waiting:
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
