package terminal

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/outrunner/outrunner/runner/wire"
)

// paceWindow is how many bytes may be on their way to a viewer whose server
// says what it takes. A server says so at least each 64 KiB.
const paceWindow = 256 << 10

// Paced makes a viewer's Write wait for the viewer itself, not only for the
// tunnel before it, so that one who is slow is painted the newest screen instead
// of all that was. A server of ours says how many bytes the browser has taken:
// {"type":"taken","bytes":n}, and zero at the start. With any other server it
// does nothing.
func Paced(port wire.Viewer) wire.Viewer {
	return &paced{Viewer: port, more: make(chan struct{}, 1)}
}

type paced struct {
	wire.Viewer
	more chan struct{} // has a token when there may be room

	mu    sync.Mutex
	told  bool
	sent  int64
	taken int64
}

// Read implements wire.Viewer.
func (p *paced) Read(ctx context.Context) (data []byte, text bool, err error) {
	for {
		if data, text, err = p.Viewer.Read(ctx); err != nil || !text || !p.note(data) {
			return data, text, err
		}
	}
}

// note takes a message that says what was taken.
func (p *paced) note(data []byte) bool {
	var m struct {
		Type  string `json:"type"`
		Bytes int64  `json:"bytes"`
	}
	if json.Unmarshal(data, &m) != nil || m.Type != "taken" {
		return false
	}
	p.mu.Lock()
	p.told, p.taken = true, max(p.taken, min(m.Bytes, p.sent))
	p.mu.Unlock()
	signal(p.more)
	return true
}

// Write implements wire.Viewer.
func (p *paced) Write(ctx context.Context, data []byte, text bool) error {
	for !p.room() {
		select {
		case <-p.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	p.mu.Lock()
	p.sent += int64(len(data)) // first: it may be taken before Write returns
	p.mu.Unlock()
	return p.Viewer.Write(ctx, data, text)
}

func (p *paced) room() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.told || p.sent-p.taken < paceWindow
}
