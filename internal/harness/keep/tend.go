package keep

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/outrunner/outrunner/internal/harness/guard"
)

// tend owns the process: it returns when that, all that descends from it, and
// everything that serves it here are gone. forget is called last.
func (p *Process) tend(forget func()) {
	defer close(p.gone)
	defer forget()
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.serve()
	}()
	rest := time.NewTimer(p.cfg.IdleReap)
	linger, hung := time.NewTimer(0), time.NewTimer(0)
	for _, t := range []*time.Timer{rest, linger, hung} {
		defer t.Stop()
	}
	linger.Stop()
	hung.Stop()
	ended, ending := p.ended, p.ending
	for {
		select {
		case <-over:
			return
		case <-rest.C:
			if again := p.dismiss(p.cfg.IdleReap); again > 0 {
				rest.Reset(again)
			}
		case <-ended:
			// Most programs exit now, and their own status tells more than
			// that of one that we have ended.
			ended = nil
			linger.Reset(p.cfg.TerminateGrace)
		case <-linger.C:
			p.End(guard.Terminate)
		case <-ending:
			ending = nil
			hung.Reset(p.cfg.Hung())
		case <-hung.C:
			p.cfg.Log.Error("a guard did not answer and is killed")
			p.proc.Abandon()
		}
	}
}

// serve moves all that goes in and comes out, to the end.
func (p *Process) serve() {
	p.failure = p.proc.Started()
	close(p.started)
	var out, in sync.WaitGroup
	out.Go(p.read)
	out.Go(func() { p.log.read(p.proc.Output) })
	in.Go(p.feed)
	out.Wait()
	p.in.close()
	_ = p.proc.In.Close() // whoever still holds the other end must not hold us
	in.Wait()
	p.exit = p.proc.Wait()
	if p.exit.Left > 0 {
		p.cfg.Log.Warn("processes of a harness could not be killed", "left", p.exit.Left)
	}
}

// read hands the lines of standard output to the turns that they belong to.
func (p *Process) read() {
	defer close(p.ended)
	lines := bufio.NewScanner(p.proc.Out)
	lines.Buffer(nil, p.maxLine+1)
	for lines.Scan() {
		p.take(lines.Bytes())
	}
	p.mu.Lock()
	t := p.turn
	p.spent = true
	p.mu.Unlock()
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		if t != nil {
			t.Break(fmt.Errorf("wrote a line of more than %d MiB", p.maxLine>>20))
		} else {
			p.End(guard.Terminate)
		}
		// It must not block in a write while it is asked to end. An error is
		// the deadline after the guard was lost.
		_, _ = io.Copy(io.Discard, p.proc.Out)
	}
	if p.peer != nil {
		p.peer.End()
	}
}

// take gives a line to the peer, or else to the turn that has the program.
func (p *Process) take(line []byte) {
	p.taking.Lock()
	defer p.taking.Unlock()
	p.mu.Lock()
	t := p.turn
	if t == nil {
		p.strays++
	}
	first := p.strays == 1
	p.mu.Unlock()
	switch {
	case p.peer != nil:
		p.peer.Hear(line)
	case t != nil:
		t.voice.Hear(p, line)
	case first:
		p.cfg.Log.Warn("a harness wrote a line while it had no turn; it and others are skipped", "line", Excerpt(line))
	}
}

// feed writes what the program is to read. When that does not read any more
// no other turn can begin in it; the one that runs may still come to its end.
func (p *Process) feed() {
	defer p.proc.In.Close() //nolint:errcheck // the program reads an end, or is gone
	for {
		line, ok := p.in.take()
		if !ok {
			return
		}
		if _, err := p.proc.In.Write(line); err != nil {
			p.mu.Lock()
			p.spent = true
			p.mu.Unlock()
			p.cfg.Log.Debug("a harness does not read its input any more", "err", err)
			return
		}
	}
}
