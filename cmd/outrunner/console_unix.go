//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// resizes tells when the console has another size, or comes back from a stop,
// which made it an ordinary one.
func (c *console) resizes() (<-chan struct{}, func()) {
	signals, out := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGCONT)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case s := <-signals:
				if s == syscall.SIGCONT {
					_ = c.raw() // at worst keys are echoed
				}
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out, func() {
		signal.Stop(signals)
		close(over)
		<-done
	}
}

// escapes does nothing: these consoles understand escape sequences.
func escapes(*os.File) func() { return func() {} }
