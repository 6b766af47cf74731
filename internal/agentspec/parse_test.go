package agentspec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestParseReadsBothForms(t *testing.T) {
	full, err := Parse([]byte("spec_version: 1\nname: helper\nprompt: |\n  You help.\nexecutor:\n  type: omnigent\n  model: m1\n  reasoning_effort: low\n  config:\n    harness: claude-sdk\n    other: {a: [1, 2]}\ntools: {agents: [x]}\n"))
	require.NoError(t, err)
	require.Equal(t, &wire.Spec{Name: "helper", Prompt: "You help.\n", Harness: "claude-sdk", Model: "m1", Effort: "low"}, full)

	short, err := Parse([]byte("name: helper\nprompt: You help.\nexecutor: {harness: 'acp:shell', model: m1}\n"))
	require.NoError(t, err)
	require.Equal(t, &wire.Spec{Name: "helper", Prompt: "You help.", Harness: "acp:shell", Model: "m1"}, short)
}

func TestParseOrderOfTheDeclaredHarness(t *testing.T) {
	for _, c := range []struct{ executor, want string }{
		{"{type: t, harness: h, config: {harness: c}}", "c"},
		{"{type: t, harness: h}", "h"},
		{"{type: t}", "t"},
		{"{type: t, config: {}}", "t"},
		{"{type: t, config: null, harness: null}", "t"},
		{"{}", "omnigent"},
		{"null", "omnigent"},
	} {
		spec, err := Parse([]byte("name: a\nexecutor: " + c.executor))
		require.NoError(t, err, c.executor)
		require.Equal(t, c.want, spec.Harness, c.executor)
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "name \"\" is empty"},
		{"prompt: x", "name \"\" is empty"},
		{"name: a/b", "contains a slash"},
		{`name: "a\tb"`, "cannot be printed"},
		{"name: ' a'", "starts or ends with a space"},
		{"name: " + strings.Repeat("a", 129), "longer than 128 bytes"},
		{"name: a\nexecutor: [1]", "line 2"},
		{"name: a\nname: b", "line 2"},
		{"name: {a", "not a valid agent"},
		{"name: \xff", "not UTF-8"},
		{"name: a\nprompt: " + strings.Repeat("a", maxYAML), "larger than"},
	} {
		_, err := Parse([]byte(c.text))
		require.ErrorIs(t, err, wire.ErrRejected, c.text)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
}
