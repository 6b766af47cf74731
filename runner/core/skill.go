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
	s := c.session(ev.Session)
	c.name(s)
	s.skillAsks = append(s.skillAsks, ev)
	c.answerSkills(s)
}

// answerSkills answers who asks for skills, once the agent is known.
func (c *Core) answerSkills(s *session) {
	if len(s.skillAsks) == 0 || !c.identified(s) {
		return
	}
	spec, harness, err := c.resolve(s)
	traits, _ := c.cfg.Traits(harness)
	asks := s.skillAsks
	s.skillAsks = nil
	for _, ask := range asks {
		if spec == nil {
			c.replyError(ask.Req, 503, "spec_resolver_failed", err.Message)
			continue
		}
		at := slices.IndexFunc(spec.Skills, func(k wire.Skill) bool { return k.Name == ask.Name })
		if at < 0 {
			names := make([]string, 0, len(spec.Skills))
			for _, k := range spec.Skills {
				names = append(names, k.Name)
			}
			c.reply(ask.Req, 404, encode(map[string]any{
				"error": "skill_not_found", "detail": "The agent " + quote(spec.Name) + " has no skill named " + quote(ask.Name) + ".", "available": names,
			}))
			continue
		}
		c.reply(ask.Req, 200, encode(map[string]string{"meta_text": skillText(spec.Skills[at], ask.Arguments, traits)}))
	}
}

// refuseSkills answers them when the agent cannot be known.
func (c *Core) refuseSkills(s *session, status int, code, detail string) {
	for _, ask := range s.skillAsks {
		c.replyError(ask.Req, status, code, detail)
	}
	s.skillAsks = nil
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
