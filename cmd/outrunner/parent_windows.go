package main

import "golang.org/x/sys/windows"

// orphaned reports that the process has ended. Windows gives nobody a new
// parent, so the process itself is asked.
func orphaned(pid int) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return true
	}
	defer func() { _ = windows.CloseHandle(process) }() // opened only to look
	event, err := windows.WaitForSingleObject(process, 0)
	return err == nil && event == windows.WAIT_OBJECT_0
}
