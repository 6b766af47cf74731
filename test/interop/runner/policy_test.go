//go:build interop

package runner

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/interop/peer"
)

// guarded is an agent whose answers may not contain a word.
const guarded = `spec_version: 1
name: guarded
prompt: You are guarded.
executor:
  type: omnigent
  model: test-model
  config: {harness: "acp:shell"}
guardrails:
  policies:
    no_secret:
      type: function
      handler: omnigent.policies.builtins.cel.cel_policy
      factory_params:
        reason: secrets stay inside
        expression: 'event.type == "response" && string(event.data).contains("xyzzy") ? {"result": "DENY"} : {"result": "ALLOW"}'
`

// What the published server does not do, so that its users are told: policies
// for answers look at text that comes as plain deltas or as a message, not at
// items of the kind that a runner may send again after a cut. The first half
// shows that the policy itself works.
func answerPolicies(t *testing.T, s *peer.Server, n *peer.Notes) {
	r := s.StartRunner()
	agent := peer.Bundle{"config.yaml": guarded}
	control, session := s.NewSession(agent, r.ID), s.NewSession(agent, r.ID)
	s.Must(http.MethodPost, "/v1/sessions/"+control+"/events", peer.Dict{"type": "message", "data": peer.Dict{
		"role": "assistant", "agent": "guarded", "content": []peer.Dict{{"type": "output_text", "text": "the word is xyzzy"}}}})
	require.Contains(t, s.Said(control), "secrets stay inside")
	require.NotContains(t, s.Said(control), "xyzzy")

	w := s.Watch(session)
	s.Send(session, "echo the word is xyzzy")
	require.Equal(t, "completed", w.Settled(turnLimit, 1)[0].Status)
	require.Contains(t, s.Said(session), "the word is xyzzy\n", "such items are not looked at; say so no longer in docs/omnigent.md if they are")
	n.Say("not seen by them")
}
