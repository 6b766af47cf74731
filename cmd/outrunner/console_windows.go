package main

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// lookEvery is how often the console's size is looked at: there is no signal.
const lookEvery = 250 * time.Millisecond

// resizes tells when the console has another size.
func (c *console) resizes() (<-chan struct{}, func()) {
	out := make(chan struct{}, 1)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		cols, rows := c.size()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			if x, y := c.size(); x != cols || y != rows {
				cols, rows = x, y
				select {
				case out <- struct{}{}:
				default:
				}
			}
		}
	}()
	return out, func() {
		close(over)
		<-done
	}
}

// escapes makes the console understand escape sequences, until it is taken back.
func escapes(out *os.File) func() {
	handle := windows.Handle(out.Fd())
	var mode uint32
	if windows.GetConsoleMode(handle, &mode) != nil {
		return func() {}
	}
	_ = windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING|windows.DISABLE_NEWLINE_AUTO_RETURN)
	return func() { _ = windows.SetConsoleMode(handle, mode) }
}
