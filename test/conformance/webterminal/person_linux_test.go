package webterminal

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"github.com/outrunner/outrunner/internal/terminal/screen"
	"github.com/outrunner/outrunner/test/testkit"
)

// person sits at a terminal of their own and attaches.
type person struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	before *term.State
	cmd    *exec.Cmd
	stderr *testkit.Output
	done   chan struct{} // closed when the command has ended

	mu     sync.Mutex
	screen *screen.Screen
}

// sits runs `outrunner attach` in a new terminal of 100 columns and 30 rows.
func (w *world) sits(args ...string) *person {
	w.t.Helper()
	master, slave, err := pty.Open()
	require.NoError(w.t, err)
	require.NoError(w.t, pty.Setsize(master, &pty.Winsize{Cols: 100, Rows: 30}))
	p := &person{t: w.t, master: master, slave: slave, stderr: &testkit.Output{}, done: make(chan struct{}), screen: screen.New(100, 30, scrollback)}
	p.before, err = term.GetState(int(slave.Fd()))
	require.NoError(w.t, err)
	seen := make(chan struct{})
	go func() { // ends with the terminal
		defer close(seen)
		buf := make([]byte, 32<<10)
		for {
			n, err := master.Read(buf)
			p.mu.Lock()
			p.screen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	p.cmd = exec.Command(testkit.Binary(w.t), append([]string{"attach"}, args...)...)
	p.cmd.Env = []string{"HOME=" + w.t.TempDir(), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "GORACE=atexit_sleep_ms=0"}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(w.t, p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	w.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
		_ = slave.Close()
		_ = master.Close() // a test may have done it
		<-seen
	})
	return p
}

// at are the arguments that lead to a server.
func at(url string) []string { return []string{"--server", url} }

func (p *person) types(keys string) {
	p.t.Helper()
	_, err := p.master.WriteString(keys)
	require.NoError(p.t, err)
}

func (p *person) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.Text(scrollback)
}

// shows waits until the screen matches.
func (p *person) shows(pattern string) {
	p.t.Helper()
	want := regexp.MustCompile(pattern)
	testkit.Until(p.t, testkit.Patience, func() bool { return want.MatchString(p.text()) },
		func() string {
			return "the screen does not match " + pattern + " but is " + tail(p.text()) + p.stderr.String()
		})
}

// pid is the process that the shell in the terminal is.
func (p *person) pid(mark string) int {
	p.t.Helper()
	p.types("echo " + mark + "=$$.\r")
	p.shows(mark + `=\d+\.`)
	all := regexp.MustCompile(mark + `=(\d+)\.`).FindStringSubmatch(p.text())
	n, err := strconv.Atoi(all[1])
	require.NoError(p.t, err)
	return n
}

// leaves waits for the end. The person's terminal must be as it was.
func (p *person) leaves() (code int, said string) {
	p.t.Helper()
	code, said = p.ends()
	after, err := term.GetState(int(p.slave.Fd()))
	require.NoError(p.t, err)
	require.Equal(p.t, p.before, after, "the terminal is not as it was")
	return code, said
}

// ends waits for the end.
func (p *person) ends() (code int, said string) {
	p.t.Helper()
	testkit.Until(p.t, testkit.Patience, func() bool {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	}, func() string { return "attach does not end; " + tail(p.text()) + p.stderr.String() })
	return p.cmd.ProcessState.ExitCode(), p.stderr.String()
}
