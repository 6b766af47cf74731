package wire

// Spec is one agent of a tree: the agent of a session, or one of its
// sub-agents.
type Spec struct {
	Name    string
	Prompt  string
	Harness string // as declared; compare with Canon
	Model   string
	Effort  string // of a sub-agent of this kind whose task names none
	// Dir is the agent's own bundle folder, "" when it has none. It is never
	// the parent's and never the workspace.
	Dir string
	// Spawn: it may make sessions of other agents, beside its own sub-agents.
	Spawn bool
	// Skills are texts that a user calls by name, in the order of their names.
	Skills []Skill
	Agents []*Spec
	// OSEnv is where it works with files and starts terminals, nil when it
	// declares none.
	OSEnv *OSEnv
	// Terminals are those that it declares, in its order.
	Terminals []Declared
}

// Skill is a text that a user calls by name, with arguments.
type Skill struct {
	Name        string
	Description string
	Text        string
	Dir         string // its folder, with what it may need
}

// Find returns the sub-agent of that name, depth first, parents before their
// children; the root itself never matches (subagents-catchup.md 2).
func (s *Spec) Find(name string) *Spec {
	for _, a := range s.Agents {
		if a.Name == name {
			return a
		}
		if found := a.Find(name); found != nil {
			return found
		}
	}
	return nil
}

var aliases = map[string]string{
	"agy": "antigravity", "google-antigravity": "antigravity",
	"agy-native": "antigravity-native",
	"devin":      "devin-native", "devin-acp": "devin-native",
	"claude":            "claude-sdk",
	"github-copilot":    "copilot",
	"kimi-code":         "kimi",
	"opencode":          "opencode-native",
	"openai-agents-sdk": "openai-agents",
	"qwen-code":         "qwen",
	"grok-build":        "grok",
	"native-agy":        "antigravity-native", "native-antigravity": "antigravity-native",
	"native-devin": "devin-native", "native-goose": "goose-native",
	"native-hermes": "hermes-native", "native-kimi": "kimi-native",
	"native-kiro": "kiro-native", "native-opencode": "opencode-native",
	"native-pi": "pi-native", "native-qwen": "qwen-native",
}

// Canon returns the canonical id of a harness (harness.md 1). A user's own id,
// acp:<slug>, keeps its slug: it alone says which program is meant. Unknown
// names pass through.
func Canon(harness string) string {
	if c, ok := aliases[harness]; ok {
		return c
	}
	return harness
}

// families are the kinds of models that a harness takes, by its canonical id. It
// is not listed when it takes those of many makers (harness.md 1).
var families = map[string]string{
	"claude-sdk": "claude", "claude-native": "claude",
	"codex": "gpt", "codex-native": "gpt",
	"antigravity": "gemini", "antigravity-native": "gemini",
}

// SameModels tells whether a model of one harness is one of the other, too: they
// are the same, or of one family.
func SameModels(one, other string) bool {
	one, other = Canon(one), Canon(other)
	return one == other || families[one] != "" && families[one] == families[other]
}
