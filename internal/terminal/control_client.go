package terminal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// errGone says that the control client has ended.
var errGone = errors.New("tmux has let go of the terminal")

const (
	readSize  = 256 << 10 // what is read of tmux at once
	maxLine   = 16 << 20  // a longer line is not tmux's
	maxStderr = 4 << 10   // what is kept of what tmux complains of
)

// A controlClient is one `tmux -C` with its pipes. Commands may be sent from
// anywhere; one goroutine calls next until it fails.
type controlClient struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Reader
	long   []byte
	parser controlParser
	stderr tail

	sending sync.Mutex // orders the writes, and with them the calls
	mu      sync.Mutex // never held while writing: the reader needs it
	calls   []*call
	gone    bool
}

// A call is a command that waits for its reply.
type call struct {
	// then runs in the reading goroutine before anything that tmux said later
	// is looked at. It must not wait. It gets the replies of all commands that
	// were sent together with this one.
	then  func([]reply)
	group []*call
	reply reply
	done  chan struct{}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - maxStderr; over > 0 {
		t.text = t.text[over:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// startControl starts a control client.
func startControl(cmd *exec.Cmd) (*controlClient, error) {
	c := &controlClient{cmd: cmd}
	cmd.Stderr = &c.stderr
	cmd.WaitDelay = stopGrace // somebody may have inherited its standard error
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe to tmux: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe from tmux: %w", err)
	}
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting tmux: %w", err)
	}
	c.in, c.lines = in, bufio.NewReaderSize(out, readSize)
	return c, nil
}

// next reads until tmux says something.
func (c *controlClient) next() (notice, error) {
	for {
		line, err := c.readLine()
		if err != nil {
			return notice{}, err
		}
		n := c.parser.line(line)
		if n.kind == noticeReply && n.own {
			c.answer(n.reply)
		}
		if n.kind != noticeNone {
			return n, nil
		}
	}
}

func (c *controlClient) readLine() ([]byte, error) {
	c.long = c.long[:0]
	for {
		part, err := c.lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if c.long = append(c.long, part...); len(c.long) > maxLine {
				return nil, errors.New("reading tmux: a line has no end")
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(c.long) > 0 {
			part = append(c.long, part...)
			c.long = part
		}
		return bytes.TrimSuffix(part, []byte("\n")), nil
	}
}

func (c *controlClient) answer(r reply) {
	c.mu.Lock()
	if len(c.calls) == 0 {
		c.mu.Unlock()
		return
	}
	first := c.calls[0]
	c.calls = c.calls[1:]
	c.mu.Unlock()
	first.reply = r
	if first.then != nil {
		all := make([]reply, len(first.group))
		for i, one := range first.group {
			all[i] = one.reply
		}
		first.then(all)
	}
	close(first.done)
}

// send sends commands in one write, so that tmux runs them without anything in
// between, and returns their calls. then is called with all replies.
func (c *controlClient) send(then func([]reply), commands ...string) ([]*call, error) {
	c.sending.Lock()
	defer c.sending.Unlock()
	calls := make([]*call, len(commands))
	var text []byte
	for i, command := range commands {
		calls[i] = &call{done: make(chan struct{})}
		text = append(append(text, command...), '\n')
	}
	last := calls[len(calls)-1]
	last.then, last.group = then, calls
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return nil, errGone
	}
	c.calls = append(c.calls, calls...)
	c.mu.Unlock()
	if _, err := c.in.Write(text); err != nil {
		// The reading goroutine sees the end as well, and settles the calls.
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return calls, nil
}

// ask sends commands and waits for the reply to the last one.
func (c *controlClient) ask(ctx context.Context, commands ...string) (reply, error) {
	calls, err := c.send(nil, commands...)
	if err != nil {
		return reply{}, err
	}
	return calls[len(calls)-1].wait(ctx)
}

func (w *call) wait(ctx context.Context) (reply, error) {
	select {
	case <-w.done:
	case <-ctx.Done():
		return reply{}, fmt.Errorf("waiting for tmux to answer: %w", context.Cause(ctx))
	}
	if w.reply.failed {
		if w.reply.lines == nil {
			return w.reply, errGone
		}
		return w.reply, fmt.Errorf("tmux: %s", w.reply.text())
	}
	return w.reply, nil
}

// outstanding is how many commands wait for their reply.
func (c *controlClient) outstanding() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// hangUp ends the client's input, which detaches it.
func (c *controlClient) hangUp() { _ = c.in.Close() } // it may have ended already

// finish waits for the client's process after next failed, and fails all calls.
func (c *controlClient) finish() {
	c.mu.Lock()
	c.gone = true
	calls := c.calls
	c.calls = nil
	c.mu.Unlock()
	for _, w := range calls {
		w.reply = reply{failed: true}
		close(w.done)
	}
	c.hangUp()
	insist := time.AfterFunc(stopGrace, func() { _ = c.cmd.Process.Kill() }) // it may be gone
	_ = c.cmd.Wait()                                                         // how it ended says nothing that the stream did not
	insist.Stop()
}
