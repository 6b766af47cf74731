package runner

import (
	"sync"
	"time"

	"github.com/outrunner/outrunner/runner/core"
)

// timers are the core's timers, one per session and key.
type timers struct {
	fire func(session string, key core.TimerKey)

	mu     sync.Mutex
	active map[timerID]*time.Timer
}

type timerID struct {
	session string
	key     core.TimerKey
}

func (t *timers) set(e core.SetTimer) {
	id := timerID{e.Session, e.Key}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active == nil {
		t.active = map[timerID]*time.Timer{}
	}
	if old := t.active[id]; old != nil {
		old.Stop()
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Duration(e.After)*time.Millisecond, func() {
		t.mu.Lock()
		current := t.active[id] == timer
		if current {
			delete(t.active, id)
		}
		t.mu.Unlock()
		if current {
			t.fire(id.session, id.key)
		}
	})
	t.active[id] = timer
}

func (t *timers) stop(session string, key core.TimerKey) {
	id := timerID{session, key}
	t.mu.Lock()
	defer t.mu.Unlock()
	if timer := t.active[id]; timer != nil {
		timer.Stop()
		delete(t.active, id)
	}
}

func (t *timers) stopAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, timer := range t.active {
		timer.Stop()
	}
	clear(t.active)
}
