package fakeserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
	"github.com/outrunner/outrunner/tunnel"
)

// Viewer is a browser that looks at a terminal, as the server joins it to the
// runner (terminals.md 3.2). It keeps all that it was sent.
type Viewer struct {
	s  *Server
	ch *tunnel.Channel

	mu     sync.Mutex
	seen   strings.Builder
	closed *tunnel.ChannelError
}

// View joins a viewer to a terminal.
func (s *Server) View(session, terminal, query string) *Viewer {
	s.t.Helper()
	s.mu.Lock()
	line, runner := s.line, s.runner
	s.mu.Unlock()
	ch, err := line.OpenChannel(s.ctx, runner, "/v1/sessions/"+session+"/resources/terminals/"+terminal+"/attach", query)
	require.NoError(s.t, err)
	v := &Viewer{s: s, ch: ch}
	s.running.Go(v.read)
	return v
}

func (v *Viewer) read() {
	for {
		m, err := v.ch.Read(v.s.ctx)
		v.mu.Lock()
		if err == nil && !m.Text {
			v.seen.Write(m.Data)
		}
		if err != nil {
			v.closed = &tunnel.ChannelError{Reason: err.Error()}
			errors.As(err, &v.closed)
		}
		v.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Type sends what was typed.
func (v *Viewer) Type(text string) { v.send(text, false) }

// Resize says how large the viewer's window is.
func (v *Viewer) Resize(cols, rows int) {
	v.send(fmt.Sprintf(`{"type":"resize","cols":%d,"rows":%d}`, cols, rows), true)
}

func (v *Viewer) send(text string, control bool) {
	v.s.t.Helper()
	ctx, cancel := context.WithTimeout(v.s.ctx, testkit.Patience)
	defer cancel()
	require.NoError(v.s.t, v.ch.Write(ctx, tunnel.Message{Data: []byte(text), Text: control}))
}

// Seen is all that the viewer was sent so far.
func (v *Viewer) Seen() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen.String()
}

// Sees waits until the viewer was sent the text.
func (v *Viewer) Sees(text string) {
	v.s.t.Helper()
	testkit.Until(v.s.t, testkit.Patience, func() bool { return strings.Contains(v.Seen(), text) },
		func() string { return fmt.Sprintf("the viewer does not see %q but %q", text, v.Seen()) })
}

// Ended waits until the runner has ended the viewer's channel, and returns how.
func (v *Viewer) Ended() (code int, reason string) {
	v.s.t.Helper()
	v.s.Until(func() bool { v.mu.Lock(); defer v.mu.Unlock(); return v.closed != nil }, "the viewer is not ended")
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.closed.Code, v.closed.Reason
}

// Leave ends the channel as the server does when the browser has gone.
func (v *Viewer) Leave() { v.ch.Close(1000, "") }
