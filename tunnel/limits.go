package tunnel

import (
	"cmp"
	"time"
)

// Limits bounds what one tunnel may hold. The zero value of a field means its
// default. Every queue of this package is bounded by one of these: a sender
// over its bound blocks its producer, a receiver over its bound ends that one
// stream, and neither ever stops the tunnel.
type Limits struct {
	// StreamQueue is how many encoded bytes of one stream may wait for the
	// connection before its writer blocks. Default 256 KiB.
	StreamQueue int
	// SendTotal is the same for all streams of one class (interactive, bulk)
	// together. Default 64 MiB.
	SendTotal int
	// Queued is how many requests may wait for their turn. Default 8192.
	Queued int
	// QueuedPerKey is how many of them may share one order key. Default 1024.
	QueuedPerKey int
	// QueuedBytes is how many bytes of request may wait. Default 128 MiB.
	QueuedBytes int
	// Open is how many requests and channels may exist at once, waiting ones
	// included. Default 16384.
	Open int
	// Starting is how many handlers may be between their start and their
	// admission. Default 64.
	Starting int
	// Refusals is how many refusals may wait to be written before the peer
	// counts as flooding, which closes the tunnel with 1013. Default 1024.
	Refusals int
	// RequestBody is the largest body of a request in bytes; a larger one is
	// refused with 413 before anything is sent. Default 16 MiB.
	RequestBody int
	// ReceiveStream is how many bytes of one response, or of one channel, may
	// wait for their reader. Default 16 MiB for responses; channels get a
	// quarter of it.
	ReceiveStream int
	// ReceiveTotal is the same for all streams of a tunnel. Default 128 MiB.
	ReceiveTotal int
	// Window is the least number of bulk bytes that may be under way without a
	// pong that covers them; it grows with the measured rate. Default 256 KiB.
	Window int
	// WindowMax is how far it grows. Default 16 MiB.
	WindowMax int
}

func (l Limits) withDefaults() Limits {
	l.StreamQueue = cmp.Or(l.StreamQueue, 256<<10)
	l.SendTotal = cmp.Or(l.SendTotal, 64<<20)
	l.Queued = cmp.Or(l.Queued, 8192)
	l.QueuedPerKey = cmp.Or(l.QueuedPerKey, 1024)
	l.QueuedBytes = cmp.Or(l.QueuedBytes, 128<<20)
	l.Open = cmp.Or(l.Open, 16384)
	l.Starting = cmp.Or(l.Starting, 64)
	l.Refusals = cmp.Or(l.Refusals, 1024)
	l.RequestBody = cmp.Or(l.RequestBody, 16<<20)
	l.ReceiveStream = cmp.Or(l.ReceiveStream, 16<<20)
	l.ReceiveTotal = cmp.Or(l.ReceiveTotal, 128<<20)
	l.Window = cmp.Or(l.Window, 256<<10)
	l.WindowMax = max(cmp.Or(l.WindowMax, 16<<20), l.Window)
	return l
}

// Timing holds every duration of a tunnel. The zero value of a field means its
// default; tests shorten them.
type Timing struct {
	// Dial bounds one attempt: name, connection, TLS and upgrade. Default 10 s.
	Dial time.Duration
	// Hello is how long the server end waits for the first message before it
	// closes with 1013 (tunnel.md 3). Default 30 s.
	Hello time.Duration
	// Ping is the pause between keepalive pings. Default 30 s: a current
	// Python runner drops a server that is silent for 60 s (tunnel.md 9).
	Ping time.Duration
	// Silence is how long the peer may send no byte at all. It is counted in
	// eighteenths, only while this process runs: a machine that was stopped
	// does not blame its peer. Default 90 s.
	Silence time.Duration
	// Suspend is by how much the wall clock must have run ahead of the
	// monotonic one to conclude that the machine slept. Default 15 s.
	Suspend time.Duration
	// RetryBase is the first delay before dialing again, and the delay after
	// a planned recycle. Every delay is spread at random by half to both
	// sides, within its cap. Default 0.5 s.
	RetryBase time.Duration
	// RetryCap is the largest delay while the outage is younger than RetryFast.
	// Default 1 s.
	RetryCap time.Duration
	// RetryFast is how long an outage counts as young. Default 60 s.
	RetryFast time.Duration
	// RetryCapLate is the largest delay of an older outage, and the least one
	// after another runner took this one's place. Default 10 s.
	RetryCapLate time.Duration
	// Healthy is how long a connection must have lived to end the outage
	// before it. Default 5 s.
	Healthy time.Duration
	// Drain is how long handlers may go on after Run's context ended, before
	// theirs end too. Default 2 s.
	Drain time.Duration
	// Flush is how long the last bytes, a close frame mostly, may take to
	// leave when a connection ends. Default 1 s.
	Flush time.Duration
	// HandlerExit is how long Run waits at its end for handlers whose context
	// ended; one that stays longer is logged and left. Default 5 s.
	HandlerExit time.Duration
}

func (t Timing) withDefaults() Timing {
	t.Dial = cmp.Or(t.Dial, 10*time.Second)
	t.Hello = cmp.Or(t.Hello, 30*time.Second)
	t.Ping = cmp.Or(t.Ping, 30*time.Second)
	t.Silence = cmp.Or(t.Silence, 90*time.Second)
	t.Suspend = cmp.Or(t.Suspend, 15*time.Second)
	t.RetryBase = cmp.Or(t.RetryBase, 500*time.Millisecond)
	t.RetryCap = cmp.Or(t.RetryCap, time.Second)
	t.RetryFast = cmp.Or(t.RetryFast, time.Minute)
	t.RetryCapLate = cmp.Or(t.RetryCapLate, 10*time.Second)
	t.Healthy = cmp.Or(t.Healthy, 5*time.Second)
	t.Drain = cmp.Or(t.Drain, 2*time.Second)
	t.Flush = cmp.Or(t.Flush, time.Second)
	t.HandlerExit = cmp.Or(t.HandlerExit, 5*time.Second)
	return t
}
