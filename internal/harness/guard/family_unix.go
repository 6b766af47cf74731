//go:build linux || darwin

package guard

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// family is the program and all that descends from it.
type family struct {
	program int // process id, and the id of its group
}

// start starts the program in a group of its own, so that a script that
// signals its whole group does not hit the guard.
func (f *family) start(path string, argv []string, files []*os.File) (pid int, err error) {
	attr := programAttr()
	attr.Setpgid = true
	p, err := os.StartProcess(path, argv, &os.ProcAttr{Files: files, Sys: attr})
	if err != nil {
		return 0, err
	}
	f.program = p.Pid
	// reap waits for every child at once; a second waiter would fight with it.
	return f.program, p.Release()
}

// sealFiles keeps files that whoever started the runner left open from being
// passed on to the program.
func sealFiles() error {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("listing open files: %w", err)
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// handleSignals keeps the guard alive under every signal that is not for it.
// Not signal.Ignore, which the program would inherit; and a signal that was
// ignored when the guard started (a runner in the background of a script has
// no SIGINT) gets its default action back in the program.
func handleSignals() {
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE,
		unix.SIGALRM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
}

// send does one step of the ladder. A stopped process hears nothing but
// SIGKILL until it is continued. Errors mean that somebody was faster or that
// the process is another user's; the ladder and its limit deal with both.
func (f *family) send(step Step) {
	switch step {
	case Interrupt:
		_ = unix.Kill(-f.program, unix.SIGINT)
		_ = unix.Kill(-f.program, unix.SIGCONT)
	case Terminate:
		for _, pid := range f.members() {
			_ = unix.Kill(pid, unix.SIGTERM)
			_ = unix.Kill(pid, unix.SIGCONT)
		}
	case Kill:
		for _, pid := range f.members() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// left counts the family.
func (f *family) left() int { return len(f.members()) }

// reap takes in every child that dies, tells the program's end once, and
// returns when the family is gone.
func (f *family) reap(exited func(End)) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // ECHILD: no child is left
			f.awaitStrangers()
			return
		case pid == f.program && (status.Exited() || status.Signaled()):
			exited(endOf(status))
		}
	}
}

// awaitStrangers waits for members that are not our children and have none of
// our children above them. Where the guard is a subreaper there are none.
func (f *family) awaitStrangers() {
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	for f.left() > 0 {
		<-tick.C
	}
}

func endOf(status unix.WaitStatus) End {
	if !status.Signaled() {
		return End{Code: status.ExitStatus()}
	}
	name := unix.SignalName(status.Signal())
	if name == "" {
		name = fmt.Sprintf("signal %d", int(status.Signal()))
	}
	return End{Signal: name}
}

// detach gives the guard a group of its own, away from a ^C at the runner's
// terminal.
func detach() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills what a dead guard may have left: the group of its program.
func killGroup(program int) {
	if program > 0 {
		_ = unix.Kill(-program, unix.SIGKILL) // none left is what we want
	}
}
