package runner

import (
	"context"
	"sync"

	"github.com/outrunner/outrunner/runner/core"
)

// mail brings running turns what the core has for them, each turn's in order:
// two messages must not overtake each other on their way to a program. It is
// bounded by what the core sends: answers to open questions, and messages that
// are queued.
type mail struct {
	mu    sync.Mutex
	boxes map[string][]core.SendToTurn // by turn; one that is here is being emptied
}

// post never blocks.
func (m *mail) post(ctx context.Context, d *driver, e core.SendToTurn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	box, busy := m.boxes[e.Turn]
	if m.boxes == nil {
		m.boxes = map[string][]core.SendToTurn{}
	}
	m.boxes[e.Turn] = append(box, e)
	if !busy {
		d.running.Go(func() { m.empty(ctx, d, e.Turn) })
	}
}

// empty sends what is in a turn's box until that is empty.
func (m *mail) empty(ctx context.Context, d *driver, turn string) {
	if p := d.pumps.get(turn); p != nil {
		select { // a turn that is being prepared has no program to be told
		case <-p.ready:
		case <-ctx.Done():
		}
	}
	for {
		e, ok := m.next(turn)
		if !ok {
			return
		}
		if err := d.r.cfg.Harness.Send(ctx, e.Session, e.Turn, e.Msg); err != nil {
			d.log.Warn("telling a program", "what", e.Msg.Type, "session", e.Session, "turn", e.Turn, "error", err)
		}
	}
}

func (m *mail) next(turn string) (core.SendToTurn, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	box := m.boxes[turn]
	if len(box) == 0 {
		delete(m.boxes, turn)
		return core.SendToTurn{}, false
	}
	m.boxes[turn] = box[1:]
	return box[0], true
}
