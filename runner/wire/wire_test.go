package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindIsDepthFirstAndNeverTheRoot(t *testing.T) {
	deep := &Spec{Name: "deep"}
	tree := &Spec{Name: "root", Agents: []*Spec{
		{Name: "a", Agents: []*Spec{deep}},
		{Name: "b"},
	}}
	require.Same(t, deep, tree.Find("deep"))
	require.Equal(t, "b", tree.Find("b").Name)
	require.Nil(t, tree.Find("root"))
	require.Nil(t, tree.Find("none"))
}

func TestCanon(t *testing.T) {
	for in, want := range map[string]string{
		"claude": "claude-sdk", "agy": "antigravity", "opencode": "opencode-native", "native-pi": "pi-native",
		"acp:mine": "acp:mine", "acp": "acp", "unheard-of": "unheard-of", "": "",
		"native-claude": "native-claude", // not an alias upstream either
	} {
		require.Equal(t, want, Canon(in), in)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`: "plain",
		`[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"x"},{"type":"input_text","text":"b"}]`: "a\nb",
		`[]`: "", `null`: "", `{"text":"x"}`: "", ``: "", `[1]`: "",
	} {
		require.Equal(t, want, Text(json.RawMessage(in)), in)
	}
}

func TestSameModels(t *testing.T) {
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"acp:my-one", "acp:my-one", true},
		{"acp:my-one", "acp:my-other", false},
		{"claude", "claude-native", true},
		{"codex", "codex-native", true},
		{"claude-sdk", "codex", false},
		{"pi", "pi-native", false}, // models of many makers, each under its own names
		{"", "acp:chat", false},
	} {
		require.Equal(t, c.same, SameModels(c.one, c.other), "%s and %s", c.one, c.other)
		require.Equal(t, c.same, SameModels(c.other, c.one), "%s and %s", c.other, c.one)
	}
}
