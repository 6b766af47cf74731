//go:build unix

package terminal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/outrunner/outrunner/runner/wire"
)

// A ptyProgram is a program on a PTY of our own, for machines without tmux. It
// ends with the runner.
type ptyProgram struct {
	cmd  *exec.Cmd
	file *os.File

	mu   sync.Mutex
	left bool
	done chan struct{} // closed when the program has ended
}

var _ backend = (*ptyProgram)(nil)

func startPTY(spec wire.TerminalSpec, path string, env []string) (backend, error) {
	cmd := exec.Command(path, spec.Args...)
	cmd.Args[0] = spec.Command
	cmd.Dir = spec.Cwd
	cmd.Env = append(env, "TERM=xterm-256color")
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: startCols, Rows: startRows})
	if err != nil {
		return nil, err
	}
	return &ptyProgram{cmd: cmd, file: file, done: make(chan struct{})}, nil
}

// run reads until nobody holds the other end; what a program printed last is read
// before that.
func (p *ptyProgram) run(s sink) ending {
	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		_ = p.cmd.Wait() // its state says how it ended
		close(p.done)
		// What it started may hold the terminal, and gets the hang-up that a
		// terminal's end is.
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGHUP)
		_ = p.file.SetReadDeadline(time.Now().Add(stopGrace)) // a program that ignores that is not waited for
	}()
	buf := make([]byte, readSize)
	for {
		n, err := p.file.Read(buf)
		if n > 0 {
			s.printed(buf[:n])
			for _, answer := range answers(buf[:n]) {
				s.answer(answer)
			}
		}
		if err != nil {
			break
		}
	}
	<-reaped
	_ = p.file.Close() // it is read to its end
	exit := wire.TerminalExit{Tail: s.lastLines()}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		if status.Signaled() {
			exit.Signal = int(status.Signal())
		} else {
			exit.Status = status.ExitStatus()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return ending{left: p.left, exit: exit}
}

// answers are what tmux would tell a program that asks who its terminal is and
// whether it is well. Where its cursor is, nobody tells it here.
func answers(p []byte) []string {
	var all []string
	for ; ; p = p[1:] {
		i := bytes.IndexByte(p, 0x1b)
		if i < 0 {
			return all
		}
		p = p[i:]
		for _, known := range [][2]string{
			{"\x1b[c", "\x1b[?1;2c"}, {"\x1b[0c", "\x1b[?1;2c"}, {"\x1b[>c", "\x1b[>84;0;0c"}, {"\x1b[>0c", "\x1b[>84;0;0c"}, {"\x1b[5n", "\x1b[0n"},
		} {
			if bytes.HasPrefix(p, []byte(known[0])) {
				all = append(all, known[1])
			}
		}
	}
}

func (p *ptyProgram) write(_ context.Context, b []byte) error {
	_, err := p.file.Write(b)
	return p.ended(err)
}

// ended makes the end of the program the port's error.
func (p *ptyProgram) ended(err error) error {
	if errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EIO) {
		return errGone
	}
	return err
}

func (p *ptyProgram) press(ctx context.Context, keys []string) error {
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(keyBytes(key))
	}
	return p.write(ctx, []byte(b.String()))
}

func (p *ptyProgram) resize(_ context.Context, cols, rows int, then func()) error {
	if err := pty.Setsize(p.file, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		return p.ended(err)
	}
	then()
	return nil
}

// start has nothing to do: the program has started.
func (p *ptyProgram) start(context.Context) error { return nil }

func (p *ptyProgram) alive(context.Context) (bool, error) {
	select {
	case <-p.done:
		return false, nil
	default:
		return true, nil
	}
}

func (p *ptyProgram) copied(context.Context, string) ([]byte, error) { return nil, nil }

func (p *ptyProgram) touched(context.Context) (int64, bool) { return 0, false }

// kill ends the program as its terminal's end would, and then insists.
func (p *ptyProgram) kill(ctx context.Context) error {
	group := -p.cmd.Process.Pid
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL} {
		select {
		case <-p.done:
			return nil
		default:
		}
		_ = syscall.Kill(group, sig) // it may have ended by now
		limited, cancel := context.WithTimeout(ctx, stopGrace)
		select {
		case <-p.done:
		case <-limited.Done():
		}
		cancel()
	}
	return nil
}

// leave cannot leave the program running: its terminal is ours.
func (p *ptyProgram) leave() {
	p.mu.Lock()
	p.left = true
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = p.kill(ctx) // it never fails
}
