package terminal

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// A tmuxPane is a program in a tmux server of its own.
type tmuxPane struct {
	tmux    string   // the program
	env     []string // of every tmux that we start
	socket  string
	history int
	pastes  string // what our own buffers are named
	log     *slog.Logger

	look   chan struct{} // ask tmux whether the program lives
	inMode atomic.Bool   // the pane may be in a mode that eats what is typed
	buffer atomic.Uint64

	quit    chan struct{} // closed by the first leave or kill
	mu      sync.Mutex
	client  *controlClient // the newest
	stopped bool           // leave or kill was called
	left    bool
	exit    *wire.TerminalExit

	typedBy    *controlClient // who has what is unanswered
	unanswered [][]byte       // keys that tmux has not answered for
}

var _ backend = (*tmuxPane)(nil)

func (p *tmuxPane) current() *controlClient {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client
}

// run follows the control client, and makes a new one when somebody took it
// away while the program lives on.
func (p *tmuxPane) run(s sink) ending {
	for {
		client := p.current()
		p.follow(client, s)
		p.mu.Lock()
		stopped, left, exit := p.stopped, p.left, p.exit
		p.mu.Unlock()
		switch {
		case exit != nil:
			return ending{exit: *exit}
		case stopped:
			return ending{left: left}
		}
		if err := p.reconnect(s); err != nil {
			if !errors.Is(err, errGone) {
				p.log.Warn("terminal lost", "socket", p.socket, "err", err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			return ending{left: p.left, exit: wire.TerminalExit{Tail: s.lastLines()}}
		}
	}
}

// follow reads one control client until it ends.
func (p *tmuxPane) follow(client *controlClient, s sink) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { p.watch(ctx, client, s) })
	_, _ = client.send(nil, `refresh-client -B "dead:%*:#{pane_dead}"`) // one that has ended is found out below
	for {
		n, err := client.next()
		if err != nil {
			break
		}
		switch n.kind {
		case noticeOutput:
			s.printed(n.data)
		case noticeRenamed:
			signal(p.look)
		case noticeWatched:
			if bytes.HasSuffix(n.args, []byte(": 1")) {
				signal(p.look)
			}
		case noticeMode:
			p.inMode.Store(true)
		case noticeLayout:
			p.askSize(client, s)
		case noticeBuffer:
			if name := string(n.args); !strings.HasPrefix(name, p.pastes) && bufferName.MatchString(name) {
				s.copied(name)
			}
		}
	}
	client.finish()
	cancel()
	watching.Wait()
}

var bufferName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`)

// askSize learns the size after somebody else changed it.
func (p *tmuxPane) askSize(client *controlClient, s sink) {
	_, _ = client.send(func(r []reply) { // a client that has ended needs no size
		if r[0].failed || len(r[0].lines) != 1 {
			return
		}
		cols, rows, _ := strings.Cut(string(r[0].lines[0]), " ")
		c, colsErr := strconv.Atoi(cols)
		if rows, rowsErr := strconv.Atoi(rows); colsErr == nil && rowsErr == nil {
			s.resized(c, rows)
		}
	}, "list-panes -t "+tmuxSession+` -F "#{pane_width} #{pane_height}"`)
}

// watch looks for the end of the program. tmux keeps the pane of a dead program,
// and no control client is told, so our hook renames the window. tmux 3.3 does not
// run the hook as long as it has not waited for its child, which may take it
// seconds; so we also subscribe to whether the pane is dead, which tmux looks at
// each second.
func (p *tmuxPane) watch(ctx context.Context, client *controlClient, s sink) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.look:
		case <-again:
		}
		over, err := p.settle(ctx, client, s)
		if over {
			return
		}
		again = nil
		if err != nil {
			again = time.After(strikeEvery)
		}
	}
}

// settle finds out whether the program has ended, and if so how, and what its
// last screen is. tmux drops output of a program that ends right after it, but
// its own screen has it (T18).
func (p *tmuxPane) settle(ctx context.Context, client *controlClient, s sink) (over bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	dead, exit, known, err := p.status(ctx, client)
	if err != nil || !dead {
		return false, err
	}
	for deadline := time.Now().Add(reapLimit); !known && time.Now().Before(deadline); {
		// tmux has not waited for its child yet; a job of its own makes it do so.
		if _, err := client.ask(ctx, "run-shell -b :"); err != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(reapEvery):
		}
		if _, exit, known, err = p.status(ctx, client); err != nil {
			break
		}
	}
	calls, err := client.send(func(answers []reply) {
		if last, err := paintPicture(answers); err == nil {
			s.replaced(last, true)
		}
	}, pictureCommands(p.history)...)
	if err == nil {
		_, err = calls[len(calls)-1].wait(ctx)
	}
	if err != nil {
		p.log.Warn("last screen not read", "socket", p.socket, "err", err)
	}
	exit.Tail = s.lastLines()
	p.mu.Lock()
	p.exit = &exit
	p.mu.Unlock()
	client.hangUp()
	return true, nil
}

// status asks whether the program lives, and if not how it ended; known is false
// while tmux does not know that.
func (p *tmuxPane) status(ctx context.Context, client *controlClient) (dead bool, exit wire.TerminalExit, known bool, err error) {
	r, err := client.ask(ctx, "list-panes -t "+tmuxSession+` -F "#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}"`)
	if err != nil || len(r.lines) == 0 {
		return false, exit, false, err
	}
	fields := strings.Split(string(r.lines[0]), "|")
	if len(fields) != 3 || fields[0] != "1" {
		return false, exit, false, nil
	}
	exit.Status, _ = strconv.Atoi(fields[1]) // empty after a signal
	exit.Signal, _ = strconv.Atoi(fields[2]) // empty after an exit
	if signal := signalled(exit.Status); signal > 0 {
		exit.Status, exit.Signal = 0, signal
	}
	return true, exit, fields[1] != "" || fields[2] != "", nil
}

func (p *tmuxPane) alive(ctx context.Context) (bool, error) {
	dead, _, _, err := p.status(ctx, p.current())
	if errors.Is(err, errGone) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.exit != nil {
			return false, nil
		}
		return false, err // only this client has gone, as far as we know (T33)
	}
	if dead {
		signal(p.look)
	}
	return err == nil && !dead, err
}

// write types what is short as keys, which costs no process, and pastes the rest.
func (p *tmuxPane) write(ctx context.Context, b []byte) error {
	client := p.current()
	if p.inMode.Swap(false) {
		// Another client has scrolled back. tmux would take what we type for
		// commands of that mode (T12).
		if _, err := client.ask(ctx, "copy-mode -q -t "+tmuxSession); err != nil {
			return err
		}
	}
	if err := p.typeAgain(ctx, client); err != nil {
		return err
	}
	switch {
	case len(b) == 0:
		return nil
	case len(b) > maxSmall:
		return p.paste(ctx, client, b)
	}
	p.mu.Lock()
	p.unanswered = append(p.unanswered, b)
	p.mu.Unlock()
	return p.typeKeys(ctx, client, b)
}

// typeKeys sends keys and, unless there are many on their way, does not wait.
func (p *tmuxPane) typeKeys(ctx context.Context, client *controlClient, b []byte) error {
	command := make([]byte, 0, len(b)*3+32)
	command = append(command, "send-keys -t "+tmuxSession+" -H"...)
	for i := range b {
		command = hex.AppendEncode(append(command, ' '), b[i:i+1])
	}
	calls, err := client.send(func([]reply) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unanswered = p.unanswered[1:]
	}, string(command))
	switch {
	case errors.Is(err, errGone):
		return nil // they are typed again
	case err == nil && client.outstanding() >= maxPending:
		_, err = calls[0].wait(ctx)
	}
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// typeAgain types what an earlier control client took with it: tmux answers
// every command that it has run before it lets a client go.
func (p *tmuxPane) typeAgain(ctx context.Context, client *controlClient) error {
	p.mu.Lock()
	again := p.unanswered
	same := p.typedBy == client
	p.typedBy = client
	p.mu.Unlock()
	if same {
		return nil
	}
	for _, b := range again {
		if err := p.typeKeys(ctx, client, b); err != nil {
			return err
		}
	}
	return nil
}

// paste types by a buffer of tmux, a hundred times as fast (T13). What was typed
// before it has arrived when tmux answers us.
func (p *tmuxPane) paste(ctx context.Context, client *controlClient, b []byte) error {
	if _, err := client.ask(ctx, "display-message -p -t "+tmuxSession+" -"); err != nil {
		return err
	}
	name := p.pastes + strconv.FormatUint(p.buffer.Add(1), 10)
	cmd := p.command(ctx, "load-buffer", "-b", name, "-", ";", "paste-buffer", "-r", "-d", "-b", name, "-t", tmuxSession)
	cmd.Stdin = strings.NewReader(string(b))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pasting into tmux: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

var keyName = regexp.MustCompile(`^[\x21-\x7e]{1,32}$`)

func (p *tmuxPane) press(ctx context.Context, keys []string) error {
	words := make([]string, 0, len(keys))
	for _, key := range keys {
		if !keyName.MatchString(key) {
			return refuse("%q is no key: use names like Enter, Escape, Up or C-c", key)
		}
		words = append(words, quote(key))
	}
	if p.inMode.Swap(false) {
		if _, err := p.current().ask(ctx, "copy-mode -q -t "+tmuxSession); err != nil {
			return err
		}
	}
	_, err := p.current().ask(ctx, "send-keys -t "+tmuxSession+" -- "+strings.Join(words, " "))
	return err
}

func (p *tmuxPane) resize(ctx context.Context, cols, rows int, then func()) error {
	calls, err := p.current().send(func(answers []reply) {
		if !answers[0].failed {
			then()
		}
	}, fmt.Sprintf("resize-window -t %s -x %d -y %d", tmuxSession, cols, rows))
	if err != nil {
		return err
	}
	_, err = calls[0].wait(ctx)
	return err
}

func (p *tmuxPane) start(ctx context.Context) error {
	_, err := p.current().ask(ctx, "wait-for -S "+startSignal)
	return err
}

func (p *tmuxPane) copied(ctx context.Context, name string) ([]byte, error) {
	cmd := p.command(ctx, "save-buffer", "-b", name, "-")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("reading the buffer %s of tmux: %w", name, err)
	}
	return out, nil
}

// touched asks for the keys of tmux's own clients: somebody on this machine.
func (p *tmuxPane) touched(ctx context.Context) (int64, bool) {
	r, err := p.current().ask(ctx, "list-clients -t "+tmuxSession+` -F "#{client_control_mode} #{client_activity}"`)
	if err != nil {
		return 0, false
	}
	quiet, any := int64(0), false
	for _, line := range r.lines {
		control, at, _ := strings.Cut(string(line), " ")
		seconds, err := strconv.ParseInt(at, 10, 64)
		if control != "0" || err != nil {
			continue
		}
		if since := time.Now().Unix() - seconds; !any || since < quiet {
			quiet, any = since, true
		}
	}
	return quiet, any
}

// command is a tmux of its own, beside the control client.
func (p *tmuxPane) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.tmux, append(base(p.socket), args...)...)
	cmd.Env = p.env
	cmd.WaitDelay = stopGrace
	apart(cmd)
	return cmd
}

func (p *tmuxPane) kill(ctx context.Context) error {
	defer p.stop(false).hangUp()
	if _, err := os.Lstat(p.socket); errors.Is(err, os.ErrNotExist) {
		// There is no server, or somebody has cleared its socket away; then it still
		// hears the client that it has.
		_, _ = p.current().send(nil, "kill-server")
		return nil
	}
	out, err := p.command(ctx, "kill-server").CombinedOutput()
	if err != nil && !gone(string(out)) {
		return fmt.Errorf("ending tmux: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (p *tmuxPane) leave() { p.stop(true).hangUp() }

// stop says that the control client goes on purpose.
func (p *tmuxPane) stop(left bool) *controlClient {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.stopped, p.left = true, left
		close(p.quit)
	}
	return p.client
}
