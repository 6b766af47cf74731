package guard

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// family is the job object that this process and all below it are in. Its only
// handle is ours, so when the guard ends, however it ends, the job ends.
type family struct {
	job     windows.Handle
	program *os.Process
}

func adopt() (*family, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("creating a job object: %w", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		return nil, fmt.Errorf("setting up a job object: %w", err)
	}
	if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
		return nil, fmt.Errorf("entering a job object: %w", err)
	}
	return &family{job: job}, nil
}

func (f *family) start(path string, argv []string, files []*os.File) (pid int, err error) {
	// A group of its own is what a Ctrl-Break can be sent to.
	attr := &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	f.program, err = os.StartProcess(path, argv, &os.ProcAttr{Files: files, Sys: attr})
	if err != nil {
		return 0, err
	}
	return f.program.Pid, nil
}

// send: this system has no terminate, so the second step breaks once more.
// Errors mean that somebody was faster, or that there is no console to break
// from; the ladder goes on to the kill.
func (f *family) send(step Step) {
	switch step {
	case Interrupt, Terminate:
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(f.program.Pid))
	case Kill:
		for _, pid := range f.members() {
			h, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, pid)
			if err != nil {
				continue
			}
			_ = windows.TerminateProcess(h, 1)
			_ = windows.CloseHandle(h)
		}
	}
}

func (f *family) left() int { return len(f.members()) }

// members lists the job without ourselves.
func (f *family) members() []uint32 {
	var list struct {
		assigned, listed uint32
		pids             [4096]uintptr
	}
	// When there are more, the first ones are listed all the same, with an
	// error; the next round gets the others.
	_ = windows.QueryInformationJobObject(f.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	var pids []uint32
	for _, pid := range list.pids[:min(int(list.listed), len(list.pids))] {
		if int(pid) != os.Getpid() {
			pids = append(pids, uint32(pid))
		}
	}
	return pids
}

func (f *family) reap(exited func(End)) {
	var end End
	state, err := f.program.Wait()
	if err != nil {
		end.Signal = err.Error()
	} else {
		end.Code = state.ExitCode()
	}
	exited(end)
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	for f.left() > 0 {
		<-tick.C
	}
}

// detach gives the guard a console that nobody sees: without one there is
// nothing to send a Ctrl-Break from.
func detach() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP}
}

// killGroup has nothing to do: the job has ended with the guard.
func killGroup(int) {}
