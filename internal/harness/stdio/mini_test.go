package stdio

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// miniRunner is a runner that does one turn of a program, prints its text as a
// line, and waits, the program at rest, until it is killed.
func miniRunner(command []string) int {
	self, err := guard.Self()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cfg := turn.Config{
		Harness: "acp:x", Command: command, Guard: self, Env: os.Environ(),
		IdleTimeout: patience, TurnTimeout: patience, MaxOutput: 1 << 20, IdleReap: time.Hour,
		InterruptGrace: guard.DefaultGrace, TerminateGrace: guard.DefaultGrace, GuardLimit: patience,
		Log: slog.New(slog.DiscardHandler),
	}
	end := NewPool().Prepare(cfg, userSays("t", "x")).Do(context.Background(), func(e wire.HarnessEvent) error {
		_, err := fmt.Println(e.Delta)
		return err
	})
	if end.Error != nil {
		fmt.Fprintln(os.Stderr, end.Error)
		return 1
	}
	<-time.After(patience)
	return 0
}
