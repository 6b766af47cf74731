package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/outrunner/outrunner/internal/client"
)

// The close codes after which a terminal is not dialed again (terminals.md 3.4).
const (
	closeLeft     = 1000
	closeEnded    = 4404
	closeDetached = 4405
)

type attachFlags struct {
	connectFlags
	readOnly  bool
	detachKey string
}

func (a *app) attachCommand() *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use: "attach SESSION [TERMINAL]", Short: "put a session's terminal into this one", Args: cobra.RangeArgs(1, 2),
		Long: `Shows a terminal of a session and types into it, until its program ends or the
detach key is pressed; the program then goes on. TERMINAL is a name that the
session's agent declares, a name with a key ("bash:main"), or an id. Without it,
the first one that runs is taken. One that does not run is started.

A lost connection is taken up again, and what is typed meanwhile is kept. Exit
code 0: detached, or the program ended; 1: failed; 3: no server; 130: asked to
stop by a signal, or the window was closed.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.attach(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.BoolVar(&f.readOnly, "read-only", false, "only look: nothing that is typed reaches the program")
	flags.StringVar(&f.detachKey, "detach-key", "ctrl-]", "`key` that detaches, ctrl-a to ctrl-_")
	return cmd
}

func (a *app) attach(ctx context.Context, f attachFlags, args []string) error {
	key, err := parseKey(f.detachKey)
	if err != nil {
		return usage(err)
	}
	con, err := openConsole(a.in, a.out)
	if err != nil {
		return usage(err)
	}
	c, err := a.connect(f.connectFlags)
	if err != nil {
		return err
	}
	defer c.Close()
	wanted := ""
	if len(args) > 1 {
		wanted = args[1]
	}
	t, err := findTerminal(ctx, c, args[0], wanted)
	if err != nil {
		return err
	}
	s := &attaching{app: a, flags: f, key: key, console: con, session: args[0], terminal: t}
	end, err := s.run(ctx, c)
	return s.finish(end, err)
}

// attaching is a terminal that is shown here.
type attaching struct {
	app      *app
	flags    attachFlags
	key      detachKey
	console  *console
	session  string
	terminal *client.Terminal
	attach   *client.Attach
}

// run gives the console to the terminal. Whatever happens, it comes back as it
// was.
func (s *attaching) run(ctx context.Context, c *client.Client) (end client.AttachEnd, err error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	if err := s.console.raw(); err != nil {
		return end, err
	}
	defer s.console.restore() // also when this goroutine panics
	resized, unwatch := s.console.resizes()
	defer unwatch()
	s.attach = &client.Attach{
		Client: c, Session: s.session, Terminal: s.terminal.ID, ReadOnly: s.flags.readOnly,
		Screen: s.console.out, Fresh: s.console.clear, Size: s.console.size, Resized: resized, Notice: s.notice,
		Panicking: s.console.restore,
	}
	s.console.clear()
	keys, err := newKeyboard(s.console.in)
	if err != nil {
		return end, err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	var running sync.WaitGroup
	over := make(chan struct{})
	running.Go(func() { s.heed(signals, over, leave) })
	running.Go(func() {
		defer s.console.panicking()
		s.read(ctx, keys, leave)
	})
	end, err = s.attach.Run(ctx)
	signal.Stop(signals)
	close(over)
	leave(nil)
	keys.stop()
	running.Wait()
	return end, errors.Join(err, keys.Close())
}

// heed leaves at the first signal; at the second it does not wait for anybody.
func (s *attaching) heed(signals <-chan os.Signal, over <-chan struct{}, leave context.CancelCauseFunc) {
	for asked := false; ; asked = true {
		select {
		case <-over:
			return
		case <-signals:
		}
		if asked {
			s.console.restore()
			os.Exit(exitInterrupted)
		}
		leave(errLeft)
	}
}

// errDetached is why an attach ends when the user presses the detach key.
var errDetached = errors.New("detached")

// read sends what is typed, until the detach key.
func (s *attaching) read(ctx context.Context, keys io.Reader, leave context.CancelCauseFunc) {
	var find finder
	buf := make([]byte, 32<<10)
	for {
		n, err := keys.Read(buf)
		before, found := find.in(buf[:n], s.key)
		s.attach.Type(ctx, before)
		switch {
		case found:
			leave(errDetached)
			return
		case ctx.Err() != nil:
			return
		case err != nil: // the keyboard is gone
			leave(errLeft)
			return
		}
	}
}

// notice writes between what the terminal shows; the next screen paints it over.
func (s *attaching) notice(text string) {
	_, _ = fmt.Fprintf(s.console.out, "\r\n\x1b[0m[outrunner: %s; %s leaves]\r\n", s.app.explain(errors.New(printable(text))), s.flags.detachKey)
}

// finish says how it ended.
func (s *attaching) finish(end client.AttachEnd, err error) error {
	switch {
	case errors.Is(err, errDetached):
		s.app.notice("detached; the program goes on, come back with: " + s.again())
		return nil
	case errors.Is(err, errLeft):
		return &coded{exitInterrupted, fmt.Errorf("%w; come back with: %s", errLeft, s.again())}
	case err != nil:
		return err
	}
	switch end.Code {
	case closeLeft, closeDetached:
		s.app.notice("detached by the other side; come back with: " + s.again())
		return nil
	case closeEnded:
		s.app.notice("the terminal has ended")
		return nil
	}
	return fmt.Errorf("the terminal cannot be shown: %s (code %d)", printable(end.Reason), end.Code)
}

func (s *attaching) again() string {
	line := fmt.Sprintf("%s attach %s %s", program(), s.session, s.terminal.ID)
	if s.flags.server != defaultServer {
		line += " --server " + s.flags.server
	}
	if s.flags.tokenFile != "" {
		line += " --server-token-file " + s.flags.tokenFile
	}
	return line
}
