package main

import (
	"context"

	term "github.com/outrunner/outrunner/internal/terminal"
	"github.com/outrunner/outrunner/runner"
	"github.com/outrunner/outrunner/tunnel"
)

var (
	_ runner.Terminals      = (*term.Manager)(nil)
	_ tunnel.ChannelHandler = channels{}
)

// terminals takes over those that an earlier runner of this room has left, and
// starts new ones.
func (s runnerSetup) terminals() (*term.Manager, error) {
	return term.New(term.Config{Dir: s.room.Path("terminals"), Log: s.log})
}

// channels serves the viewers of terminals, who come by the tunnel.
type channels struct{ runner *runner.Runner }

// ServeChannel implements tunnel.ChannelHandler.
func (c channels) ServeChannel(ctx context.Context, ch *tunnel.Channel) {
	why := c.runner.Attach(ctx, ch.Path, ch.Query, term.Paced(viewer{ch}))
	if ctx.Err() == nil { // else the tunnel itself has said why
		ch.Close(why.Code, why.Reason)
	}
}

// viewer is a channel as terminals see it.
type viewer struct{ ch *tunnel.Channel }

// Read implements wire.Viewer.
func (v viewer) Read(ctx context.Context) (data []byte, text bool, err error) {
	m, err := v.ch.Read(ctx)
	return m.Data, m.Text, err
}

// Write implements wire.Viewer.
func (v viewer) Write(ctx context.Context, data []byte, text bool) error {
	return v.ch.Write(ctx, tunnel.Message{Data: data, Text: text})
}
