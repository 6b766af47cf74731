package stdio

import (
	"fmt"
	"slices"

	"github.com/outrunner/outrunner/runner/wire"
)

// steer is a message that came during the turn.
type steer struct {
	id   string
	line []byte
}

// tell tells the program a message, or keeps it until there is a program to tell.
func (r *Run) tell(msg wire.ToHarness) error {
	var err error
	if msg.Content, err = blocksOf(msg.Content); err != nil {
		return fmt.Errorf("telling %s a message: it cannot be read: %w", r.cfg.Command[0], err)
	}
	text, err := line(msg)
	if err != nil {
		return fmt.Errorf("telling %s a message: %w", r.cfg.Command[0], err)
	}
	r.mu.Lock()
	r.steer = append(r.steer, steer{msg.InjectionID, text})
	p := r.proc
	r.mu.Unlock()
	if p == nil {
		return nil
	}
	return r.put(p, text, wire.Steer)
}

// consumed notes that the program has taken a message.
func (r *Run) consumed(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steer = slices.DeleteFunc(r.steer, func(m steer) bool { return m.id == id })
}
