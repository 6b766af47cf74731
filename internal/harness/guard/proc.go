package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// drainLimit is how long output is still read after an end that may have left
// somebody who holds the pipe open.
const drainLimit = 500 * time.Millisecond

// orderLimit is how long an order may wait for a guard that does not read.
const orderLimit = 2 * time.Second

var errGuardDied = errors.New("its guard process died")

// NotStarted is the error of a program that could not be started.
type NotStarted struct {
	// Reason is the end of a sentence that has named the program ("not found
	// in PATH").
	Reason string
	// Missing: there is no such program; installing it would help.
	Missing bool
}

// Error implements error.
func (e *NotStarted) Error() string { return e.Reason }

// Command is a program to run under a guard.
type Command struct {
	// Guard is the argv of the guard process, as Self gives it.
	Guard []string
	// Argv is the program and its arguments; it is looked up in the PATH of Env.
	Argv []string
	// Dir is the folder to start in; "" is the current one.
	Dir string
	// Env is the whole environment of the program, and of its guard.
	Env []string
	// Stdin is what the program reads; nil is the null device.
	Stdin []byte
	// Talk keeps the program's standard input open, as Proc.In, and its
	// standard output apart, as Proc.Out; Stdin is not used then.
	Talk bool
	// InterruptGrace and TerminateGrace are the times after these two steps
	// until the next one; 0 means DefaultGrace.
	InterruptGrace, TerminateGrace time.Duration
}

// Self is the argv of a guard made from this very binary, for a command that
// calls Main when its first argument is "guard".
func Self() ([]string, error) {
	self, err := executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program to guard with: %w", err)
	}
	return []string{self, "guard"}, nil
}

// Proc is a guard and its program. The caller reads Output, and Out, to the
// end, then calls Wait, once.
type Proc struct {
	// Output is what the program writes, both streams in the order written.
	// Not reading it makes the program block. With Command.Talk it is standard
	// error alone.
	Output *os.File
	// In and Out are the program's standard input and output with
	// Command.Talk, else nil. Out is like Output; In may be closed at any time.
	In, Out *os.File

	cmd     *exec.Cmd
	started chan error    // one value: nil, or why not
	done    chan struct{} // closed when the guard is gone
	end     End           // set before done is closed

	mu      sync.Mutex
	control *os.File // its end is our death, to the guard; held by Proc so that no finalizer closes it
	sent    Step
	gone    bool // the guard is about to be taken in: its id is no longer ours to signal
}

// Start starts a guard and orders it to start the program. It waits for
// neither. An error means that not even the guard could be started.
func Start(c Command) (*Proc, error) {
	first := start{Stdin: c.Stdin, InterruptGrace: c.InterruptGrace, TerminateGrace: c.TerminateGrace}
	for _, a := range c.Argv {
		first.Argv = append(first.Argv, []byte(a))
	}
	for _, grace := range []*time.Duration{&first.InterruptGrace, &first.TerminateGrace} {
		if *grace == 0 {
			*grace = DefaultGrace
		}
	}
	var pipes pipes
	theirControl, control := pipes.open()
	status, theirStatus := pipes.open()
	output, theirOutput := pipes.open()
	var theirIn, in, out, theirOut *os.File
	if c.Talk {
		theirIn, in = pipes.open()
		out, theirOut = pipes.open()
	}
	if pipes.err != nil {
		return nil, errors.Join(fmt.Errorf("opening pipes: %w", pipes.err), pipes.close())
	}
	cmd := exec.Command(c.Guard[0], c.Guard[1:]...)
	if c.Guard[0] == selfLink {
		cmd.Args[0] = os.Args[0] // what a list of processes shows
	}
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirControl, theirStatus, theirOutput
	cmd.SysProcAttr = detach()
	theirs := []*os.File{theirControl, theirStatus, theirOutput}
	if c.Talk {
		handles, err := bequeath(cmd, theirIn, theirOut)
		if err != nil {
			return nil, errors.Join(err, pipes.close())
		}
		first.Talk = handles
		theirs = append(theirs, theirIn, theirOut)
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the guard process: %w", err), pipes.close())
	}
	for _, f := range theirs {
		_ = f.Close() // the guard has its own copies
	}
	p := &Proc{
		Output: output, In: in, Out: out, cmd: cmd, control: control,
		started: make(chan error, 1), done: make(chan struct{}),
	}
	go p.follow(status)
	// An error here means that the guard has died, and follow tells that.
	_ = p.order(order{Start: &first})
	return p, nil
}

// Started waits until the program runs. An error is a *NotStarted if
// the guard lived to tell it. It may be called once.
func (p *Proc) Started() error { return <-p.started }

// Signal has the guard go down to a step of the ladder, and from there on by
// itself. It may come at any time, also before the program runs; a step that
// has been passed already does nothing.
func (p *Proc) Signal(to Step) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to <= p.sent || p.gone {
		return nil
	}
	p.sent = to
	_ = p.control.SetWriteDeadline(time.Now().Add(orderLimit)) // where pipes have none, a guard that hangs is not found out here
	err := p.order(order{Step: to})
	if errors.Is(err, os.ErrClosed) || isBrokenPipe(err) {
		return nil // it has ended meanwhile
	}
	return err
}

// Abandon kills the guard. It is for a guard that does not do its work: its
// program dies with it, but a descendant in another group may stay.
func (p *Proc) Abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		_ = p.cmd.Process.Kill() // it may be dead already
	}
}

// Wait returns when the program and all that descends from it are gone, and
// frees what Proc holds.
func (p *Proc) Wait() End {
	<-p.done
	for _, f := range []*os.File{p.Output, p.Out, p.In} {
		if f != nil {
			_ = f.Close() // read to its end by now; nobody reads what is written
		}
	}
	return p.end
}

func (p *Proc) order(o order) error {
	b, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encoding an order to the guard: %w", err)
	}
	if _, err := p.control.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("ordering the guard: %w", err)
	}
	return nil
}

// follow reads the guard's reports until it dies, and takes it in.
func (p *Proc) follow(status *os.File) {
	defer close(p.done)
	var program int
	reported := false
	reports := json.NewDecoder(io.LimitReader(status, 1<<20))
	for {
		var r report
		if err := reports.Decode(&r); err != nil {
			break // the pipe has ended; a line cut short is a guard cut short
		}
		switch {
		case r.Started != 0:
			program = r.Started
			p.started <- nil
		case r.Failed != nil:
			reported = true
			p.started <- r.Failed
		case r.End != nil:
			reported = true
			p.end = *r.End
		}
	}
	if !reported {
		p.end = End{Lost: true}
		if program == 0 {
			p.started <- errGuardDied
		}
	}
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	_ = status.Close()
	_ = p.cmd.Wait() // its own status says nothing that the reports have not said
	if p.end.Lost {
		killGroup(program)
	}
	_ = p.control.Close()
	if p.end.Lost || p.end.Left > 0 {
		drain(p.Output)
		drain(p.Out)
	}
}

// drain sees to it that reading from a pipe ends soon; f may be nil.
func drain(f *os.File) {
	if f == nil {
		return
	}
	if err := f.SetReadDeadline(time.Now().Add(drainLimit)); err != nil {
		_ = f.Close() // no deadlines on this system's pipes
	}
}

// pipes opens pipes until one fails.
type pipes struct {
	all []*os.File
	err error
}

func (p *pipes) open() (r, w *os.File) {
	if p.err != nil {
		return nil, nil
	}
	r, w, p.err = os.Pipe()
	if p.err == nil {
		p.all = append(p.all, r, w)
	}
	return r, w
}

func (p *pipes) close() error {
	var errs []error
	for _, f := range p.all {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
