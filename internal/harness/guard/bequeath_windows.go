package guard

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// bequeath has the guard inherit its program's standard input and output.
// Handles keep their numbers; no other process gets them, as each is started
// with a list of what it inherits.
func bequeath(cmd *exec.Cmd, in, out *os.File) (*handles, error) {
	for _, f := range []*os.File{in, out} {
		h := f.Fd()
		if err := windows.SetHandleInformation(windows.Handle(h), windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT); err != nil {
			return nil, fmt.Errorf("passing a pipe to the guard process: %w", err)
		}
		cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, syscall.Handle(h))
	}
	return &handles{In: in.Fd(), Out: out.Fd()}, nil
}
