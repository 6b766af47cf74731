package acp

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

func TestNoise(t *testing.T) {
	s := newStage(t)
	text := s.do("raw garbage", "raw {", "raw ", "raw []", "raw 7", `raw {"jsonrpc":"2.0"}`, `raw {"id":null}`,
		`raw {"jsonrpc":"2.0","id":99,"result":{}}`, `raw {"jsonrpc":"2.0","id":{"x":1},"error":{}}`, `raw {"id":1,"result":{}}`,
		`raw {"jsonrpc":"2.0","method":"session/update","params":7}`, `raw {"jsonrpc":"2.0","method":"session/update"}`,
		`raw {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"another","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"no"}}}}`,
		`raw {"jsonrpc":"2.0","method":"_auth/status_update","params":{}}`, `raw {"jsonrpc":"2.0","method":"$/cancel_request","params":7}`,
		`update {"sessionUpdate":"plan","entries":[]}`, `update {"sessionUpdate":"of_tomorrow"}`, `update 7`, `update {"sessionUpdate":7}`,
		`update {"sessionUpdate":"agent_message_chunk","content":7}`, `update {"sessionUpdate":"agent_message_chunk"}`,
		`update {"sessionUpdate":"usage_update","used":"x"}`, `update {"sessionUpdate":"config_option_update","configOptions":7}`,
		`update {"sessionUpdate":"tool_call","toolCallId":7}`, "say ok")
	require.Equal(t, "ok", text)
	require.Empty(t, s.items())
	require.Contains(t, s.log.String(), "garbage")
	require.Contains(t, s.log.String(), "lines=6")
	require.Equal(t, "again", s.do("say again"))
}

func TestBytesThatAreNoText(t *testing.T) {
	s := newStage(t)
	require.Equal(t, `a\xffb\x00`, s.do("bytes"))
	require.Equal(t, "ok", s.do("blob 1700000", "say ok"), "made visible it is too long, and is skipped")
}

func TestNotAnAgent(t *testing.T) {
	s := newStage(t)
	s.cfg.Command = []string{"sh", "-c", "echo usage: agent; exit 1"}
	_, end := s.run(says("x"))
	s.failed(end, wire.CodeExitStatus, "exited with status 1")
}

func TestHugeLines(t *testing.T) {
	s := newStage(t)
	text, end := s.run(script("long 3000000"))
	s.completed(end)
	require.Len(t, text, 3000000)
	_, end = s.run(script("long 9000000", "hang"))
	s.failed(end, "harness_protocol", "wrote a line of more than 8 MiB")
	require.Nil(t, s.pool.Kept("s"))
}

func TestMuchOutput(t *testing.T) {
	s := newStage(t)
	text := s.do("flood 20000")
	require.Equal(t, 20000, strings.Count(text, " "))
	require.True(t, strings.HasPrefix(text, "0 1 2 3 "))
	s.cfg.MaxOutput = 10000
	_, end := s.run(script("flood 20000"))
	s.failed(end, wire.CodeOutputLimit, "more than 10000 bytes")
}

func TestManyQuestionsAtOnce(t *testing.T) {
	s := newStage(t)
	r, ended := s.begin(script("flood-requests", "await-cancel"))
	s.asked(maxAsks)
	s.untilText("cancelled") // one of those that nobody is asked
	r.Stop(turn.Interrupted)
	require.Equal(t, wire.Cancelled, s.await(ended).Outcome)
	require.Len(t, s.all(wire.ElicitationRequest), maxAsks)
}

func TestRequestsAreCounted(t *testing.T) {
	s := &peer{}
	for range maxRequests {
		require.True(t, s.admit())
	}
	require.False(t, s.admit())
}

func TestUpdatesAfterTheAnswer(t *testing.T) {
	s := newStage(t)
	require.Empty(t, s.do("late too late"))
	require.NoError(t, s.pool.Close(t.Context(), "s"), "all that it wrote has been read now")
	require.Empty(t, s.text())
	require.Equal(t, "x", s.do("say x"))
}

// A reader that is slow slows the agent down; nothing is lost, and the agent is
// not taken for silent.
func TestASlowReader(t *testing.T) {
	s := newStage(t)
	s.cfg.IdleTimeout = 300 * time.Millisecond
	first := true
	s.emit = func(e wire.HarnessEvent) error {
		if first && e.Type == wire.TextDelta {
			first = false
			<-time.After(3 * s.cfg.IdleTimeout)
		}
		return nil
	}
	require.Equal(t, 20000, strings.Count(s.do("flood 20000"), " "))
}
