package tunnel

import (
	"sync/atomic"
	"time"
)

// silenceTicks is in how many steps the silence is counted.
const silenceTicks = 18

// watch looks at the link in even steps and ends it when the peer is silent or
// this machine has slept. It also sends the keepalive pings.
func (l *link) watch(clock clock) {
	if clock == nil {
		clock = machineClock()
	}
	step := l.timing.Silence / silenceTicks
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	wall, mono := clock()
	v := vigil{suspend: l.timing.Suspend, wall: wall, mono: mono}
	lastPing := mono
	for {
		select {
		case <-l.done:
			return
		case <-ticker.C:
		}
		wall, mono := clock()
		switch v.look(wall, mono, l.pipe.read.Load()) {
		case lifeSilent:
			l.silent()
			return
		case lifeResumed:
			l.abort(Reason{Cause: CauseResumed, Text: "this machine was suspended"})
			return
		}
		l.lastByte.store(v.quiet, step)
		if mono-lastPing >= l.timing.Ping-step/2 {
			lastPing = mono
			l.out.owePing()
			if !l.out.masked { // only the server sends these (tunnel.md 9)
				l.out.pingApp()
			}
		}
	}
}

// silent ends a link whose peer says nothing. A runner may still read, so it is
// told; a server would take a farewell for a clean end, so it is not.
func (l *link) silent() {
	r := Reason{Cause: CauseSilent, Text: "no byte for " + l.timing.Silence.String()}
	if l.out.masked {
		l.abort(r)
		return
	}
	r.Code = closePingTimeout
	l.close(r, closePingTimeout, "ping timeout")
}

// life is what a look at a link finds.
type life int

const (
	lifeGood life = iota
	lifeSilent
	lifeResumed
)

// vigil counts the steps in which no byte came, and compares the clocks. It
// counts steps rather than time, so that a process that was stopped or starved
// does not take its own absence for the peer's.
type vigil struct {
	suspend    time.Duration
	wall, mono time.Duration // at the last look
	bytes      int64
	quiet      int
}

func (v *vigil) look(wall, mono time.Duration, bytes int64) life {
	drift := (wall - v.wall) - (mono - v.mono)
	v.wall, v.mono = wall, mono
	if bytes != v.bytes {
		v.quiet = 0
	} else {
		v.quiet++
	}
	v.bytes = bytes
	switch {
	case drift >= v.suspend:
		return lifeResumed
	case v.quiet >= silenceTicks:
		return lifeSilent
	}
	return lifeGood
}

// lastByte is the age of the last byte, in steps of the watch.
type lastByte struct{ age atomic.Int64 }

func (b *lastByte) store(quiet int, step time.Duration) {
	b.age.Store(int64(time.Duration(quiet) * step))
}
func (b *lastByte) load() time.Duration { return time.Duration(b.age.Load()) }
