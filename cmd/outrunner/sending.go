package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/outrunner/outrunner/internal/client"
)

// interruptLimit bounds the call that asks a turn to stop.
const interruptLimit = 5 * time.Second

// errLeft is why waiting ends when the user goes.
var errLeft = errors.New("left before the end")

// sending is a message on its way: what the follower finds out goes to the
// terminal, and ctrl-c to the turn.
type sending struct {
	app      *app
	flags    sendFlags
	follower *client.Follower
	leave    context.CancelCauseFunc // set by listen

	last   string      // of the text printed
	posted atomic.Bool // the message has an item
	asked  atomic.Bool // the user asked the turn to stop
}

func (a *app) newSending(f sendFlags, c *client.Client) *sending {
	s := &sending{app: a, flags: f}
	s.follower = &client.Follower{Client: c, Session: f.session, Item: f.follow, Notice: a.notice}
	s.posted.Store(f.follow != "")
	if f.asJSON {
		s.follower.Event = func(ev client.Event) { s.write(string(ev.Data) + "\n") }
	} else {
		s.follower.Text = func(text string) {
			s.last = text
			s.write(text)
		}
	}
	return s
}

// write ends everything when nobody reads the output any more.
func (s *sending) write(text string) {
	if _, err := io.WriteString(s.app.out, text); err != nil {
		s.leave(fmt.Errorf("writing the answer: %w", err))
	}
}

// listen takes the signals until stop is called: the first ctrl-c asks the turn
// to stop, any other signal leaves.
func (s *sending) listen(ctx context.Context) (context.Context, func()) {
	ctx, s.leave = context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var asking sync.WaitGroup
		defer asking.Wait()
		for {
			select {
			case <-over:
				return
			case got := <-signals:
				if got != os.Interrupt || !s.posted.Load() || s.asked.Swap(true) {
					s.leave(errLeft)
					continue
				}
				asking.Go(func() { s.interrupt(ctx) })
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		s.leave(nil)
		close(over)
		<-done
	}
}

// interrupt asks the turn to stop.
func (s *sending) interrupt(ctx context.Context) {
	s.app.notice("asking the agent to stop; press ctrl-c again to leave it alone")
	ctx, cancel := context.WithTimeout(ctx, interruptLimit)
	defer cancel()
	err := s.follower.Client.Interrupt(ctx, s.flags.session)
	if err != nil && ctx.Err() == nil {
		s.app.notice("the agent could not be asked to stop: " + s.app.explain(err))
	}
}

// begin tells what was sent, so that scripts and people can come back to it.
func (s *sending) begin() error {
	s.posted.Store(true)
	var err error
	switch {
	case s.flags.asJSON:
		err = lines(s.app.out, []any{struct {
			SessionID string `json:"session_id"`
			ItemID    string `json:"item_id"`
		}{s.flags.session, s.follower.Item}})
	case s.flags.noWait:
		_, err = fmt.Fprintf(s.app.out, "sent; read the answer with: %s\n", s.again())
	case terminal(s.app.err):
		s.app.notice("session " + s.flags.session)
	}
	return err
}

// again is the command that goes on where this one stops.
func (s *sending) again() string {
	line := fmt.Sprintf("%s send --session %s --follow %s", program(), s.flags.session, s.follower.Item)
	if s.flags.server != defaultServer {
		line += " --server " + s.flags.server
	}
	if s.flags.tokenFile != "" {
		line += " --server-token-file " + s.flags.tokenFile
	}
	return line
}

// finish ends with what the turn did.
func (s *sending) finish(end client.End) error {
	if s.last != "" && !strings.HasSuffix(s.last, "\n") && terminal(s.app.out) {
		s.write("\n")
	}
	switch end.Outcome {
	case client.Completed:
		return nil
	case client.Cancelled:
		if s.asked.Load() {
			s.app.notice("stopped")
			return &coded{exitInterrupted, nil}
		}
		return errors.New("the turn was cancelled")
	}
	if end.Error == nil {
		return errors.New("the turn failed; the server does not say why")
	}
	text := end.Error.Message
	if text == "" {
		text = end.Error.Code
	}
	if end.Error.Remediation != "" {
		text = strings.TrimRight(text, ". ") + ". " + end.Error.Remediation
	}
	return errors.New(text)
}

// left ends without knowing what the turn will do, and says how to go on.
func (s *sending) left(err error) error {
	how := ""
	if s.posted.Load() {
		how = "; the turn goes on, come back with: " + s.again()
	}
	switch {
	case errors.Is(err, errLeft):
		return &coded{exitInterrupted, fmt.Errorf("%w%s", errLeft, how)}
	case errors.Is(err, client.ErrUnreachable) && how != "":
		return &coded{exitUnreachable, fmt.Errorf("%w%s", err, how)}
	}
	return err
}

// notice tells a person something beside the answer.
func (a *app) notice(text string) {
	_, _ = fmt.Fprintln(a.err, "outrunner: "+string(a.secrets.Redact([]byte(printable(text))))) // where else
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
