//go:build linux

package chaos

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
	"github.com/outrunner/outrunner/test/testkit"
)

// faultyPrograms is a table of harnesses that fail, each in its own way.
const faultyPrograms = `
harnesses:
  acp:missing: {adapter: exec, command: [no-such-program, "{message}"]}
  acp:crash:   {adapter: exec, command: [bash, -c, "echo text; kill -SEGV $$"]}
  acp:silent:  {adapter: exec, command: [bash, -c, "echo text; sleep 100"], idle_timeout: 500ms}
  acp:endless: {adapter: exec, command: [bash, -c, "while :; do echo text; sleep 0.1; done"], turn_timeout: 700ms}
  acp:flood:   {adapter: exec, command: [yes, text], max_output: 64KiB}
  acp:deaf:    {adapter: exec, command: [bash, -c, "trap '' INT TERM; echo text; while :; do sleep 0.1; done"]}
`

// newFaulty is a world in which each harness of the table has an agent of its
// name.
func newFaulty(t *testing.T) world {
	t.Helper()
	s := testkit.NewServer(t)
	w := world{s, testkit.NewRunner(t, s.URL)}
	for _, name := range []string{"missing", "crash", "silent", "endless", "flood", "deaf", "unknown"} {
		w.AddAgent(name, fmt.Sprintf("name: %s\nprompt: none\nexecutor: {harness: \"acp:%s\"}\n", name, name))
	}
	w.runner.Configure(faultyPrograms)
	w.runner.Start()
	w.WaitOnline()
	return w
}

func TestProgramsThatFailAreFailedTurnsWithASentence(t *testing.T) {
	t.Parallel()
	w := newFaulty(t)
	for _, c := range []struct{ agent, code, program, next string }{
		{"missing", wire.CodeSpawnFailed, "no-such-program", "config file"},
		{"crash", wire.CodeCrashed, "bash", "terminal"},
		{"silent", wire.CodeTimeout, "bash", "idle_timeout"},
		{"endless", wire.CodeTimeout, "bash", "turn_timeout"},
		{"flood", wire.CodeOutputLimit, "yes", "max_output"},
		{"unknown", wire.CodeHarnessUnknown, "acp:unknown", "config file"},
	} {
		session := w.NewSession(c.agent)
		end := w.Settled(turnLimit, session, w.Send(session, "do it"))[0]
		require.Equal(t, "failed", end.Status, c.agent)
		require.Equal(t, c.code, end.Code, c.agent)
		require.Contains(t, end.Message, c.program, "%s: the sentence names the program", c.agent)
		require.Contains(t, end.Message+" "+end.Remediation, c.next, "%s: the sentence says what to do", c.agent)
		var at testkit.Session
		testkit.Until(t, turnLimit, func() bool { // the status follows the outcome
			var err error
			at, err = w.Session(session)
			return err == nil && at.Status == "failed"
		}, testkit.Is("the session of "+c.agent+" is not shown as failed"))
		require.Equal(t, c.code, at.LastError.Code, c.agent)
	}
	testkit.RequireNone(t, w.runner.Home, w.runner.Process)
	session := w.NewSession("shell")
	require.Equal(t, "completed", w.Settled(turnLimit, session, w.Send(session, "echo well"))[0].Status, "the runner is well after all that")
}

func TestAProgramThatIgnoresTheInterruptIsKilled(t *testing.T) {
	t.Parallel()
	w := newFaulty(t)
	session := w.NewSession("deaf")
	item := w.Send(session, "do it")
	w.waitStored(t, session, 1)
	require.NoError(t, w.Interrupt(session))
	end := w.Settled(turnLimit, session, item)[0]
	require.Equal(t, "failed", end.Status)
	require.Equal(t, wire.CodeInterruptIgnored, end.Code)
	require.Contains(t, end.Message, "bash ignored the interrupt and had to be killed")
	require.NotEmpty(t, end.Remediation)
	testkit.RequireNone(t, w.runner.Home, w.runner.Process)
}
