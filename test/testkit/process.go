package testkit

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// outputDelay bounds the wait for output that somebody else still holds open
// after the process has ended.
const outputDelay = 2 * time.Second

// Process is one run of a program.
type Process struct {
	Stdout, Stderr *Output

	t    testing.TB
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and its output is complete
}

// Options are what a run of the program may need beside its arguments.
type Options struct {
	Home  string   // HOME; default: a folder of its own
	Dir   string   // the current folder; default: Home
	Env   []string // more variables
	Stdin string
}

// Run starts outrunner. It is killed at the end of the test if it has not ended
// before.
func Run(t testing.TB, o Options, args ...string) *Process {
	t.Helper()
	return RunProgram(t, Binary(t), "outrunner "+args[0], o, args...)
}

// RunProgram is Run for another program. The name is what it is called in what
// a failed test shows.
func RunProgram(t testing.TB, path, name string, o Options, args ...string) *Process {
	t.Helper()
	if o.Home == "" {
		o.Home = t.TempDir()
	}
	if o.Dir == "" {
		o.Dir = o.Home
	}
	p := &Process{t: t, name: name, cmd: exec.Command(path, args...), done: make(chan struct{}),
		Stdout: &Output{}, Stderr: &Output{}}
	p.cmd.Dir, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = o.Dir, strings.NewReader(o.Stdin), p.Stdout, p.Stderr
	p.cmd.WaitDelay = outputDelay
	p.cmd.Env = append(environment(o.Home), o.Env...)
	dieWithUs(p.cmd)
	require.NoError(t, p.cmd.Start(), "starting %s", p.name)
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(p.end)
	return p
}

// environment has nothing of the user's that could change what a test sees.
func environment(home string) []string {
	env := []string{"HOME=" + home, "USER=tester", "LANG=C.UTF-8",
		"GORACE=atexit_sleep_ms=0"} // a raced program would linger for a second
	for _, name := range []string{"PATH", "TMPDIR", "SYSTEMROOT"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// end kills what still runs, and shows what it said if the test failed.
func (p *Process) end() {
	p.Kill()
	said := p.Stderr.String()
	for _, bad := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: "} {
		if strings.Contains(said, bad) {
			p.t.Errorf("%s: %s", p.name, bad)
		}
	}
	if p.t.Failed() {
		p.t.Logf("%s, %q, process %d: %s\nstdout:\n%s\nstderr:\n%s", p.name, p.cmd.Args[1:], p.Pid(),
			p.cmd.ProcessState, clip(p.Stdout.String()), clip(said))
	}
}

// clip keeps the end of a long text, where the trouble is.
func clip(s string) string {
	const enough = 32 << 10
	if len(s) <= enough {
		return s
	}
	return "[...]" + s[len(s)-enough:]
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill ends the process as kill -9 does, and waits until it is gone.
func (p *Process) Kill() {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("killing %s: %v", p.name, err)
	}
	<-p.done
}

// Signal sends a signal to this process alone.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait waits until the process ends by itself and returns its exit code, which
// is negative after a signal.
func (p *Process) Wait(limit time.Duration) int {
	p.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-timer.C:
		require.FailNow(p.t, p.name+" did not end", "within %s", limit)
		return 0
	}
}
