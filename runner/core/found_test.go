package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// TestAnswersOfAnEarlierLife: what was asked of a session before it was deleted
// is no answer when its name is used again.
func TestAnswersOfAnEarlierLife(t *testing.T) {
	p := newPlayer()
	p.step(Init{Req: 1, Session: "S", AgentID: "a1", Envelope: &Envelope{Snapshot: wire.Snapshot{ID: "S", AgentID: "a1"}}})
	p.step(Delete{Req: 2, Session: "S"})
	p.step(HarnessClosed{Session: "S"})
	require.Contains(t, p.step(Message{Req: 3, Session: "S", ItemID: "u1", AgentID: "a2", Content: encode("a")}), "read snapshot S")
	require.Empty(t, p.step(SpecRead{Session: "S", Gen: 0, Spec: &wire.Spec{Name: "old", Harness: "acp:shell"}}))
	require.Nil(t, p.core.sessions["S"].spec)
}
