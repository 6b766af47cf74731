package server

import (
	"log/slog"
	"time"
)

// Config is what a Server is made of. The zero value works but for Dir.
type Config struct {
	// Dir is the server's folder: agents/*.yaml, the token file and, unless DB
	// says otherwise, the database server.db. It must exist.
	Dir string
	// DB is the database file. Default: Dir/server.db.
	DB string
	// Listen is the address that is listened on, for the Host rule.
	Listen string
	// PublicHosts are further names under which the server may be reached, each
	// with or without a port. A request that comes under one of them needs the
	// token, also from loopback: that is where a proxy's requests come from.
	PublicHosts []string
	// Version is told in /v1/info and /api/version.
	Version string
	// Log gets what goes wrong. Default: nothing.
	Log *slog.Logger
	// Timing has the server's waits.
	Timing Timing
}

// Timing are the waits of a Server. A zero field means its default.
type Timing struct {
	// DisconnectGrace is how long a runner may be away before its running
	// sessions fail. Default 90 s.
	DisconnectGrace time.Duration
	// Heartbeat is the longest silence on a viewer's stream. Default 15 s.
	Heartbeat time.Duration
	// ViewerWrite bounds one write to a viewer. Default 30 s.
	ViewerWrite time.Duration
	// RelayFirst is how soon a runner's stream must say something. Default 5 s.
	RelayFirst time.Duration
	// RelaySilence is the longest silence on a runner's stream. Default 45 s.
	RelaySilence time.Duration
	// RelayRetry is the wait before a broken stream is opened again; it doubles
	// up to ForwardRetryMax while nothing at all comes. Default 0.5 s.
	RelayRetry time.Duration
	// RelayDrain is how long what a lost tunnel had already brought may take to
	// be stored. Default 10 s.
	RelayDrain time.Duration
	// Forward bounds the runner's answer to a message. Default 60 s.
	Forward time.Duration
	// ForwardRetry is the first wait before a message is offered again; it
	// doubles up to ForwardRetryMax. Defaults 0.5 s and 10 s.
	ForwardRetry, ForwardRetryMax time.Duration
	// Control bounds the runner's answer to an interrupt, a stop, a status or an
	// approval. Default 5 s.
	Control time.Duration
	// Init bounds the runner's answer to a session-init. Default 10 s.
	Init time.Duration
	// Tool bounds a tool call at the runner. Default 2 h.
	Tool time.Duration
	// ArchiveStop is how long an archived session may still run, so that the user
	// can think again. Default 8 s.
	ArchiveStop time.Duration
	// Resource bounds the runner's answer about a resource. Default 10 s.
	Resource time.Duration
	// Terminals bounds the runner's answer when a stream begins with the
	// session's terminals. Default 2 s.
	Terminals time.Duration
	// Download is the longest silence of a file on its way. Default 45 s.
	Download time.Duration
	// AttachWait is how long a terminal is waited for whose runner is away.
	// Default 5 s.
	AttachWait time.Duration
	// SocketPing is the pause between pings of a browser's WebSocket; one that
	// is silent for three of them is gone. Default 30 s.
	SocketPing time.Duration
	// SocketClose is how long a browser may take to answer a close. Default 2 s.
	SocketClose time.Duration
	// UpdatesGather is how long changes of sessions are gathered before their
	// watchers hear of them. Default 200 ms.
	UpdatesGather time.Duration
	// StorageRetry is the wait before a runner's event is stored again after the
	// database failed. Default 0.5 s.
	StorageRetry time.Duration
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	set(&t.DisconnectGrace, 90*time.Second)
	set(&t.Heartbeat, 15*time.Second)
	set(&t.ViewerWrite, 30*time.Second)
	set(&t.RelayFirst, 5*time.Second)
	set(&t.RelaySilence, 45*time.Second)
	set(&t.RelayRetry, 500*time.Millisecond)
	set(&t.RelayDrain, 10*time.Second)
	set(&t.Forward, 60*time.Second)
	set(&t.ForwardRetry, 500*time.Millisecond)
	set(&t.ForwardRetryMax, 10*time.Second)
	set(&t.Control, 5*time.Second)
	set(&t.Init, 10*time.Second)
	set(&t.Tool, 2*time.Hour)
	set(&t.ArchiveStop, 8*time.Second)
	set(&t.Resource, 10*time.Second)
	set(&t.Terminals, 2*time.Second)
	set(&t.Download, 45*time.Second)
	set(&t.AttachWait, 5*time.Second)
	set(&t.SocketPing, 30*time.Second)
	set(&t.SocketClose, 2*time.Second)
	set(&t.UpdatesGather, 200*time.Millisecond)
	set(&t.StorageRetry, 500*time.Millisecond)
	return t
}
