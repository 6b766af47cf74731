package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/client"
)

func TestTheTreeIsDrawn(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out}
	require.NoError(t, a.printTree(nil))
	require.Empty(t, out.String())
	require.NoError(t, a.printTree([]client.Child{
		{ID: "a", Title: "worker:one", Status: "completed", Labels: map[string]string{"omnigent.subagent.dispatch_id": "w1"}, Children: []client.Child{
			{ID: "c", Title: "deep:1", Status: "in_progress", Busy: true, Elicitations: 1, Cut: true},
		}},
		{ID: "b", Title: "worker:two", Status: "failed", LastError: &client.Error{Code: "x", Message: "bo\nom"}},
		{ID: "d", Title: "worker:three"},
	}))
	require.Equal(t, `
sub-agents, 1 result not read:
SUB-AGENT        SESSION  STATE
├─ worker:one    a        completed, not read
│  └─ deep:1     c        in_progress, asks something, its own sub-agents are not shown
├─ worker:two    b        failed, x: bo om
└─ worker:three  d        nothing to do yet
`, out.String())
}
