package stdio

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

func TestAProgramThatEndsInItsTurn(t *testing.T) {
	tests := map[string]struct {
		run  string
		code string
		says string
		next string
	}{
		"exit 0":       {`text a; exit 0`, wire.CodeExitStatus, "sh exited with status 0 before it had ended the turn", "wrote nothing to standard error"},
		"exit 3":       {`echo "no such model" >&2; exit 3`, wire.CodeExitStatus, "sh exited with status 3 before it had ended the turn", "no such model"},
		"killed":       {`kill -KILL $$`, wire.CodeCrashed, "sh was ended by SIGKILL", "in a terminal"},
		"crash":        {`echo panic >&2; kill -SEGV $$`, wire.CodeCrashed, "sh was ended by SIGSEGV", "panic"},
		"cut line":     {`printf '{"type":"response.compl'; exit 0`, wire.CodeExitStatus, `wrote nothing that is an event, and exited with status 0; its first line was: {"type":"response.compl`, ""},
		"closed":       {`exec >&-; while :; do sleep 0.02; done`, wire.CodeCrashed, "sh closed its standard output and was stopped before it had ended the turn", ""},
		"garbage":      {`echo "usage: x [y]"; echo more; exit 2`, wire.CodeExitStatus, "sh wrote nothing that is an event, and exited with status 2; its first line was: usage: x [y]", ""},
		"garbage only": {`echo; echo '[1]'; echo '{"level":"info"}'; exit 0`, wire.CodeExitStatus, "its first line was: [1]", ""},
		"some garbage": {`echo garbage; text a; exit 0`, wire.CodeExitStatus, "sh exited with status 0 before it had ended the turn", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "read -r line; "+tt.run)
			_, end := s.run("x")
			s.failed(end, tt.code, tt.says)
			require.Contains(t, end.Error.Remediation, tt.next)
			require.NotEmpty(t, end.Error.Remediation)
			require.Nil(t, s.process())
		})
	}
}

func TestAProgramThatIsNoneOfThese(t *testing.T) {
	s := stageFor(t, "cat")
	s.cfg.IdleTimeout = 300 * time.Millisecond
	_, end := s.run("hello")
	s.failed(end, wire.CodeTimeout, `cat wrote nothing that is an event for 300ms and was stopped; its first line was: {"type":"message"`)
}

func TestGarbageIsSkipped(t *testing.T) {
	s := newStage(t, `echo starting up
while IFS= read -r line; do
echo garbage; echo '{"level":"info"}'; echo '{"type":"response.output_text.delta","delta":1}'
text a; echo '{"type":"response.output_item.done","item":{"type":"message"}}'; text b
echo '{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c"}}'
echo '{"type":"response.output_item.done","item":{"type":"function_call_output"}}'
echo '{"type":"response.output_item.done","item":3}'; echo '{"type":"message"}'; echo '{"type":3}'; finish; done`)
	text, end := s.run("x")
	s.completed(end)
	require.Equal(t, "ab", text)
	require.Empty(t, s.items())
	require.Equal(t, 1, strings.Count(s.log.String(), "that is no event"), s.log.String())
	require.Regexp(t, `were no events".* lines=(9|10)\n`, s.log.String(), "the line before the turn may be one of them")
}

func TestALongQuoteIsCut(t *testing.T) {
	s := newStage(t, `read -r line; head -c 500000 /dev/zero | tr '\0' x; exit 1`)
	_, end := s.run("x")
	s.failed(end, wire.CodeExitStatus, "its first line was: xxx")
	require.Less(t, len(end.Error.Message), 400)
	require.Contains(t, end.Error.Message, "…")
}

func TestALineThatIsTooLong(t *testing.T) {
	s := newStage(t, `while IFS= read -r line; do cat answer; done`)
	ok := `{"type":"response.output_text.delta","delta":"` + strings.Repeat("x", maxLine-48) + `"}`
	require.Len(t, ok, maxLine)
	s.write("answer", ok+"\n"+`{"type":"response.completed"}`+"\n")
	text, end := s.run("x")
	s.completed(end)
	require.Len(t, text, maxLine-48, "a line of exactly the limit is fine")

	s.write("answer", ok+"x\n"+strings.Repeat("more\n", 1<<20))
	_, end = s.run("x")
	s.failed(end, turn.CodeProtocol, "sh wrote a line of more than 1 MiB, and was stopped")
	require.Nil(t, s.process())
}

func TestAfterALineThatIsTooLongTheProgramIsNotHeldUp(t *testing.T) {
	s := newStage(t, `trap '' TERM; read -r line; head -c 3000000 /dev/zero | tr '\0' x; i=0
while [ $i -lt 20000 ]; do i=$((i+1)); say more; done; echo x > left`)
	s.cfg.TerminateGrace = patience
	_, end := s.run("x")
	s.failed(end, turn.CodeProtocol, "sh wrote a line of more than 1 MiB")
	require.Equal(t, "x", s.file("left"), "it came to its own end")
}

func TestALongLineBetweenTurnsEndsTheProgram(t *testing.T) {
	s := newStage(t, `read -r line; finish; head -c 2000000 /dev/zero | tr '\0' x; sleep 1000`)
	_, end := s.run("x")
	s.completed(end)
	s.left()
}

func TestACallThatCannotBeAnsweredFailsTheTurn(t *testing.T) {
	s := newStage(t, `read -r line; say '{"type":"response.output_item.done","item":{"type":"function_call","status":"action_required","name":"f"}}'; read -r line`)
	_, end := s.run("x")
	s.failed(end, turn.CodeProtocol, "sh asked for a tool without a name or a call_id, and was stopped")
}

func TestAProgramMayLeaveBetweenTurns(t *testing.T) {
	for name, leave := range map[string]string{"in peace": "exit 0", "with a child": "sleep 1000 & exit 0"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, `read -r line; text "$$"; finish; `+leave)
			seen := map[string]bool{}
			for range 8 { // the next turn begins before, while and after it leaves
				text, end := s.run("x")
				s.completed(end)
				require.False(t, seen[text], "each has its own process")
				seen[text] = true
			}
			s.left()
			_, end := s.run("x")
			s.completed(end)
		})
	}
}

func TestACrashBetweenTurnsIsNoConcernOfTheNext(t *testing.T) {
	s := newStage(t, `read -r line; finish; kill -KILL $$`)
	_, end := s.run("x")
	s.completed(end)
	s.left()
	_, end = s.run("x")
	s.completed(end)
}

func TestAProgramThatLeavesWithoutAWordIsStartedAgainOnce(t *testing.T) {
	s := newStage(t, `echo x >> starts; if [ "$(wc -l < starts)" -eq 1 ]; then read -r line; finish; fi; read -r line; exit 0`)
	_, end := s.run("x")
	s.completed(end)
	_, end = s.run("x")
	s.failed(end, wire.CodeExitStatus, "exited with status 0 before it had ended the turn")
	require.Equal(t, "x\nx", s.file("starts"))
}

func TestAProgramThatReadsNoMore(t *testing.T) {
	s := newStage(t, `read -r line; exec <&-; text "$$"; finish; sleep 1000`)
	one, end := s.run("x")
	s.completed(end)
	s.cfg.IdleTimeout = time.Second
	two, end := s.run("x")
	if end.Outcome == wire.Completed {
		require.NotEqual(t, one, two)
	} else {
		s.failed(end, wire.CodeTimeout, "wrote nothing") // it was found out in this turn
		two, end = s.run("x")
		s.completed(end)
		require.NotEqual(t, one, two)
	}
}

func TestAnotherProgramForAnotherAgentHarnessModelOrFolder(t *testing.T) {
	s := newStage(t, `while IFS= read -r line; do text "$$ $(pwd)"; finish; done`)
	last, end := s.run("x")
	s.completed(end)
	start := userSays("t", "x")
	again := func(what string) {
		t.Helper()
		for i := range 2 {
			s.forget()
			_, ended := s.begin(start)
			s.completed(s.await(ended))
			if i == 0 {
				require.NotEqual(t, last, s.text(), "%s: another process", what)
			} else {
				require.Equal(t, last, s.text(), "%s: and then the same", what)
			}
			last = s.text()
			require.NotNil(t, s.pool.Kept("s"))
		}
	}
	start.AgentID = "a2"
	again("agent")
	start.Model = "big"
	again("model")
	s.cfg.Harness = "acp:y"
	again("harness")
	s.cfg.Command = append(s.cfg.Command, "arg")
	again("command")
	s.cfg.Dir = t.TempDir()
	again("folder")
}

func TestAProgramThatCannotBeStarted(t *testing.T) {
	s := stageFor(t, "no-such-program")
	for range 2 {
		_, end := s.run("x")
		s.failed(end, wire.CodeSpawnFailed, `cannot start "no-such-program": not found in PATH; install it or set harnesses: "acp:x": command: in the config file`)
		require.Nil(t, s.process())
	}
	s.cfg.Guard = []string{"/no/such/guard"}
	_, end := s.run("x")
	s.failed(end, wire.CodeSpawnFailed, "starting the guard process")
}

func TestOnSpawnComesInEachTurnBeforeTheMessage(t *testing.T) {
	s := newStage(t, `while IFS= read -r line; do text "$(cat spawned)"; finish; done`)
	calls := ""
	s.cfg.OnSpawn = func() { calls += "x"; s.write("spawned", calls) }
	for _, want := range []string{"x", "xx"} {
		text, end := s.run("x")
		s.completed(end)
		require.Equal(t, want, text)
	}
}

func TestStandardErrorGoesToTheLogBounded(t *testing.T) {
	s := newStage(t, `while IFS= read -r line; do echo "wörd" >&2; head -c 300000 /dev/zero | tr '\0' x >&2; echo last >&2; finish; done`)
	text, end := s.run("x")
	s.completed(end)
	require.Empty(t, text)
	require.Eventually(t, func() bool { return strings.Contains(s.log.String(), "wrote much to standard error") }, patience, 5*time.Millisecond)
	require.Contains(t, s.log.String(), "line=wörd")
	require.Less(t, len(s.log.String()), 2*keep.LogLimit)
	require.Equal(t, 1, strings.Count(s.log.String(), "wrote much"))
}

func TestAProgramIsNotToldATurn(t *testing.T) {
	s := newStage(t, `while IFS= read -r line; do env > env; finish; done`)
	s.cfg.Env = append(os.Environ(), "OUTRUNNER_SESSION_ID=s", "OUTRUNNER_TURN_ID=t")
	_, end := s.run("x")
	s.completed(end)
	require.Contains(t, s.file("env"), "OUTRUNNER_SESSION_ID=s")
	require.NotContains(t, s.file("env"), "OUTRUNNER_TURN_ID")
}
