package core

import (
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// A user calls a skill of the session's agent by its name; the server asks for
// its text, and sends that as a message (sessions.md 2).

// ResolveSkill is POST /v1/sessions/{id}/skills/resolve.
type ResolveSkill struct {
	Req       Req
	Session   string
	Name      string
	Arguments string
}

func (ResolveSkill) event() {}

func (c *Core) onResolveSkill(ev ResolveSkill) {
	c.askForAgent(ev.Session, &asker{running: running{reqs: []Req{ev.Req}}, skill: &ev})
}

// answerSkill answers who asks for a skill of an agent that is known.
func (c *Core) answerSkill(ask *ResolveSkill, spec *wire.Spec, harness string) {
	traits, _ := c.cfg.Traits(harness)
	at := slices.IndexFunc(spec.Skills, func(k wire.Skill) bool { return k.Name == ask.Name })
	if at >= 0 {
		c.reply(ask.Req, 200, encode(map[string]string{"meta_text": skillText(spec.Skills[at], ask.Arguments, traits)}))
		return
	}
	names := make([]string, 0, len(spec.Skills))
	for _, k := range spec.Skills {
		names = append(names, k.Name)
	}
	c.reply(ask.Req, 404, encode(map[string]any{
		"error": "skill_not_found", "detail": "The agent " + quote(spec.Name) + " has no skill named " + quote(ask.Name) + ".", "available": names,
	}))
}

// argumentsWord is where a skill wants what the user has added.
const argumentsWord = "$ARGUMENTS"

// skillText is what the program is told to do. One that runs its input as a
// command gets no words of ours.
func skillText(k wire.Skill, arguments string, traits wire.Traits) string {
	text := strings.ReplaceAll(k.Text, argumentsWord, arguments)
	if traits.OneMessagePerTurn {
		return text
	}
	if k.Dir != "" {
		text = "The files of this skill are in " + k.Dir + ".\n\n" + text
	}
	if arguments != "" && !strings.Contains(k.Text, argumentsWord) {
		text += "\n\nArguments: " + arguments
	}
	return text
}
