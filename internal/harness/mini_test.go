package harness

import (
	"context"
	"fmt"
	"os"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/runner/wire"
)

// miniRunner is a runner that does nothing but one turn: args are the turn's
// id and its message. Its output is the turn's. Tests kill it.
func miniRunner(args []string) int {
	self, err := guard.Self()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m, err := New(Config{Guard: self})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	end := m.Turn(context.Background(), message(args[0], args[1]), func(e wire.HarnessEvent) error {
		_, err := fmt.Print(e.Delta)
		return err
	})
	fmt.Printf("end: %s\n", end.Outcome)
	return 0
}
