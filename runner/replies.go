package runner

import (
	"sync"

	"github.com/outrunner/outrunner/runner/core"
)

// replies joins the core's answers to the handlers that wait for them.
type replies struct {
	mu      sync.Mutex
	last    core.Req
	waiting map[core.Req]chan core.Reply
}

func (r *replies) open() (core.Req, <-chan core.Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[core.Req]chan core.Reply{}
	}
	r.last++
	ch := make(chan core.Reply, 1)
	r.waiting[r.last] = ch
	return r.last, ch
}

func (r *replies) close(req core.Req) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, req)
}

func (r *replies) deliver(reply core.Reply) {
	r.mu.Lock()
	ch := r.waiting[reply.Req]
	delete(r.waiting, reply.Req)
	r.mu.Unlock()
	if ch != nil {
		ch <- reply
	}
}
