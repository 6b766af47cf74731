package plan

import (
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// interruptedMarker begins the text that a runner stores when a turn was
// interrupted. It looks like a user's message and is never work (sessions.md
// 14, trap 5).
const interruptedMarker = "[System: interrupted]"

// Merge is what a merge of the server's items into the journal needs to know.
type Merge struct {
	// Known: the journal knows the session. It is judged before the merge.
	Known bool
	// Beyond is the index from which on the items lie beyond the cursor.
	Beyond int
	// Named tells whether a turn of ours names the item.
	Named func(id string) bool
	// Queued tells whether the item is accepted and waits here.
	Queued func(id string) bool
	// Ours tells whether an assistant, call or error item came from this runner.
	Ours func(wire.Item) bool
	// Pending are the items that our server has stored and not delivered.
	Pending []string
	// Plain: a plain init is being answered.
	Plain bool
	// Native: the session runs in a terminal, whose program reads its own input.
	Native bool
}

// Authority returns the ids of the user's items that are work: those that may
// be run. Everything else in items is history. It is table B of the design.
func Authority(m Merge, items []wire.Item) []string {
	answered := lastForeign(m, items)
	compacted := lastCompaction(items)
	beyond, trailing := max(m.Beyond, compacted), max(trailingRun(items), compacted)
	var work []string
	for n, it := range items {
		queued := m.Queued(it.ID) // and then it is work, whatever it looks like
		if !queued && !isUserInput(it) || m.Named(it.ID) || n < answered {
			continue
		}
		if queued || slices.Contains(m.Pending, it.ID) ||
			!m.Native && (m.Known && n >= beyond || !m.Known && m.Plain && n >= trailing) {
			work = append(work, it.ID)
		}
	}
	return work
}

// lastForeign returns the index of the last item that answers what stands
// before it and is not ours; 0 when there is none.
func lastForeign(m Merge, items []wire.Item) int {
	for n, it := range slices.Backward(items) {
		if isAnswer(it) && !m.Ours(it) {
			return n
		}
	}
	return 0
}

// lastCompaction returns the index behind the last compaction: what stands
// before it was summed up there, so whoever did that has seen it.
func lastCompaction(items []wire.Item) int {
	for n, it := range slices.Backward(items) {
		if it.Type == "compaction" {
			return n + 1
		}
	}
	return 0
}

// trailingRun returns the index at which the run of user items at the end
// begins.
func trailingRun(items []wire.Item) int {
	n := len(items)
	for n > 0 && !isAnswer(items[n-1]) {
		n--
	}
	return n
}

func isAnswer(it wire.Item) bool {
	switch it.Type {
	case "function_call", "function_call_output", "error":
		return true
	case "message":
		return it.Role == "assistant"
	}
	return false
}

func isUserInput(it wire.Item) bool {
	return it.Type == "message" && (it.Role == "user" || it.Role == "") && !it.IsMeta &&
		!strings.HasPrefix(wire.Text(it.Content), interruptedMarker)
}
