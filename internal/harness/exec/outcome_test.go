package exec

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

func TestOutcome(t *testing.T) {
	cfg := turn.Config{Harness: "acp:x", Command: []string{"prog"}, IdleTimeout: time.Hour, TurnTimeout: 3 * time.Hour, MaxOutput: 10}
	asked := func(why turn.Reason) stop { return stop{why: why, step: why.Step(), cause: errors.New("gone")} }
	tests := map[string]struct {
		stop    stop
		exit    guard.End
		outcome wire.Outcome
		code    string
	}{
		"exit 0":                           {stop{}, guard.End{}, wire.Completed, ""},
		"exit 1":                           {stop{}, guard.End{Code: 1}, wire.Failed, wire.CodeExitStatus},
		"signal":                           {stop{}, guard.End{Signal: "SIGSEGV"}, wire.Failed, wire.CodeCrashed},
		"guard lost":                       {stop{}, guard.End{Lost: true}, wire.Failed, wire.CodeCrashed},
		"interrupted":                      {asked(turn.Interrupted), guard.End{Signal: "SIGINT", Step: guard.Interrupt}, wire.Cancelled, ""},
		"interrupted, cleaned up":          {asked(turn.Interrupted), guard.End{Step: guard.Interrupt}, wire.Cancelled, ""},
		"interrupted, terminated":          {asked(turn.Interrupted), guard.End{Signal: "SIGTERM", Step: guard.Terminate}, wire.Cancelled, ""},
		"interrupted, killed":              {asked(turn.Interrupted), guard.End{Signal: "SIGKILL", Step: guard.Kill}, wire.Failed, wire.CodeInterruptIgnored},
		"interrupted, guard lost":          {asked(turn.Interrupted), guard.End{Lost: true}, wire.Failed, wire.CodeInterruptIgnored},
		"interrupted, then closed":         {stop{why: turn.Interrupted, step: guard.Kill}, guard.End{Signal: "SIGKILL", Step: guard.Kill}, wire.Cancelled, ""},
		"interrupted too late":             {asked(turn.Interrupted), guard.End{}, wire.Completed, ""},
		"interrupted too late, had failed": {asked(turn.Interrupted), guard.End{Code: 2}, wire.Failed, wire.CodeExitStatus},
		"closed":                           {asked(turn.SessionClosed), guard.End{Signal: "SIGTERM", Step: guard.Terminate}, wire.Cancelled, ""},
		"runner stopping":                  {asked(turn.RunnerStopping), guard.End{Signal: "SIGTERM", Step: guard.Terminate}, wire.Failed, wire.CodeRunnerRestarted},
		"runner stopping too late":         {asked(turn.RunnerStopping), guard.End{}, wire.Completed, ""},
		"context ended":                    {asked(turn.Cancelled), guard.End{Signal: "SIGKILL", Step: guard.Kill}, wire.Cancelled, ""},
		"reader gone":                      {asked(turn.EmitFailed), guard.End{}, wire.Failed, wire.CodeInternal},
		"silent":                           {asked(turn.Silent), guard.End{Signal: "SIGTERM", Step: guard.Terminate}, wire.Failed, wire.CodeTimeout},
		"silent too late":                  {asked(turn.Silent), guard.End{}, wire.Completed, ""},
		"too long":                         {asked(turn.TooLong), guard.End{Signal: "SIGKILL", Step: guard.Kill}, wire.Failed, wire.CodeTimeout},
		"too much":                         {asked(turn.TooMuch), guard.End{}, wire.Failed, wire.CodeOutputLimit},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			end := outcome(cfg, tt.stop, tt.exit, 1)
			require.Equal(t, tt.outcome, end.Outcome)
			require.Empty(t, end.Note, "it wrote something")
			if tt.code == "" {
				require.Nil(t, end.Error)
				return
			}
			require.Equal(t, tt.code, end.Error.Code)
			require.Contains(t, end.Error.Message, "prog")
			require.NotEmpty(t, end.Error.Remediation)
		})
	}
	require.Equal(t, "exit 0", outcome(cfg, stop{}, guard.End{}, 0).Note)
	require.Contains(t, outcome(cfg, stop{}, guard.End{Code: 1}, 0).Error.Remediation, "wrote nothing")
}
