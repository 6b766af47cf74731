package terminal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// gone tells from what tmux says whether a server, or its session, is no more.
// Anything else, such as a machine without processes to spare, says nothing
// about it (terminals.md T33).
func gone(said string) bool {
	for _, phrase := range []string{
		"no server running on", "server exited", "lost server", "can't find session", "can't find window", "can't find pane",
		"no current target", "session not found", "no such session", "no sessions",
	} {
		if strings.Contains(said, phrase) {
			return true
		}
	}
	return strings.Contains(said, "error connecting to") &&
		(strings.Contains(said, "No such file or directory") || strings.Contains(said, "Connection refused"))
}

// attach makes a control client of a server that is there already. errGone says
// that there is none.
func (p *tmuxPane) attach(ctx context.Context) (*controlClient, error) {
	args := append(base(p.socket), "-C", "attach-session", "-f", "ignore-size", "-t", tmuxSession)
	client, err := startControl(p.control(args))
	if err != nil {
		return nil, err
	}
	if err := p.greet(ctx, client); err != nil {
		return nil, err
	}
	return client, nil
}

// control is the command of a control client. It goes on when the runner that
// started it is told to stop by its terminal.
func (p *tmuxPane) control(args []string) *exec.Cmd {
	cmd := exec.Command(p.tmux, args...)
	cmd.Env = append(p.env[:len(p.env):len(p.env)], "TERM=xterm-256color")
	return cmd
}

// greet waits until a new control client is attached. On an error it has ended.
func (p *tmuxPane) greet(ctx context.Context, client *controlClient) error {
	stop := context.AfterFunc(ctx, func() { _ = client.cmd.Process.Kill() }) // it may have ended
	defer stop()
	var said []string
	for {
		n, err := client.next()
		if err == nil {
			switch {
			case n.kind == noticeReply && n.failed:
				said = append(said, n.text())
			case n.kind == noticeExit && len(n.args) > 0:
				said = append(said, string(n.args))
			case n.kind == noticeSession:
				return nil
			}
			continue
		}
		client.finish()
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for tmux: %w", context.Cause(ctx))
		}
		if text := client.stderr.String(); text != "" {
			said = append(said, text)
		}
		text := strings.Join(said, ": ")
		if gone(text) {
			return fmt.Errorf("%w: %s", errGone, text)
		}
		if text == "" {
			text = err.Error()
		}
		return fmt.Errorf("tmux: %s", text)
	}
}

// awaitOthers waits until no control client is left of the runner before us. tmux
// 3.3 falls over, and takes the program along, when one comes while another one
// goes that did not say so. Somebody else's may stay, so there is a limit.
func (p *tmuxPane) awaitOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	for {
		out, err := p.command(ctx, "list-clients", "-F", "#{client_control_mode}").Output()
		if err != nil || !strings.Contains(string(out), "1") {
			return
		}
		timer := time.NewTimer(retryEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// reconnect makes a new control client, and has the screen painted from what
// tmux knows: what was printed in between is not.
func (p *tmuxPane) reconnect(s sink) error {
	for strike := 1; ; strike++ {
		ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
		err := p.rejoin(ctx, s)
		cancel()
		if err == nil || errors.Is(err, errGone) || strike == strikes {
			return err
		}
		p.log.Warn("terminal not reached", "socket", p.socket, "strike", strike, "err", err)
		timer := time.NewTimer(strikeEvery)
		select {
		case <-timer.C:
		case <-p.quit:
			timer.Stop()
			return errGone
		}
	}
}

func (p *tmuxPane) rejoin(ctx context.Context, s sink) error {
	client, err := p.attach(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.client = client
	if p.stopped {
		client.hangUp()
	}
	p.mu.Unlock()
	signal(p.look) // it may have died in between
	p.inMode.Store(true)
	_, err = client.send(func(answers []reply) {
		now, err := paintPicture(answers)
		if err != nil {
			p.log.Warn("screen not read", "socket", p.socket, "err", err)
			return
		}
		s.replaced(now, false)
	}, pictureCommands(p.history)...)
	if err != nil {
		client.finish()
		return errors.New("tmux let go of a client that it had just taken") // it lives, so this is a strike
	}
	s.answer("") // has the typist type what the client before us took with it
	return nil
}
