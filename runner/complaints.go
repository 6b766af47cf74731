package runner

import (
	"log/slog"
	"maps"
	"sync"
	"time"
)

// complaintPause is how long the same complaint is not repeated.
const complaintPause = 10 * time.Minute

// complaints warn of what goes wrong again and again while it is tried: once,
// with the first reason. What follows are debug lines.
type complaints struct {
	log *slog.Logger

	mu   sync.Mutex
	made map[complaint]time.Time
}

// complaint is what is complained about. There are few per session, and they go
// with it.
type complaint struct{ session, msg string }

// add complains, unless it just did.
func (c *complaints) add(session, msg string, err error) {
	attrs := []any{"session", session}
	if err != nil {
		attrs = append(attrs, "error", err)
	}
	if c.isNew(complaint{session, msg}, time.Now()) {
		c.log.Warn(msg, attrs...)
		return
	}
	c.log.Debug(msg, attrs...)
}

func (c *complaints) isNew(about complaint, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.made[about]; ok && now.Sub(last) < complaintPause {
		return false
	}
	if c.made == nil {
		c.made = map[complaint]time.Time{}
	}
	c.made[about] = now
	return true
}

// end takes a complaint back, and reports whether it was made.
func (c *complaints) end(session, msg string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	about := complaint{session, msg}
	_, made := c.made[about]
	delete(c.made, about)
	return made
}

// forget drops all that was said of a session.
func (c *complaints) forget(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.made, func(about complaint, _ time.Time) bool { return about.session == session })
}
