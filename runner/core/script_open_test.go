package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// openQuestions are what a script may answer. A script that answers what was not
// asked, or told of a turn that does not run, would show nothing of the rule that it is about; where that is the point
// its line says "unasked".
//
// A question keeps the generation, or the life of its session, in which it was
// asked, 0 where that is
// none of its business; the oldest of a name is answered first.
type openQuestions map[string][]uint64

// asked notes what an effect asks for.
func (o openQuestions) asked(e Effect) {
	for _, key := range questionsOf(e) {
		o[key] = append(o[key], generation(e, key))
	}
}

// generation is that of the question.
func generation(e Effect, key string) uint64 {
	switch e := e.(type) {
	case ReadSnapshot:
		return e.Gen
	case ReadSpec:
		return e.Gen
	case PostWake:
		return e.Life
	case Evaluate:
		return e.Life
	case Scan:
		for _, order := range e.Sessions {
			if key == "scan "+order.Session {
				return order.Gen
			}
		}
	}
	return 0
}

// answer takes the question that a line answers, and returns its generation.
func (o openQuestions) answer(t *testing.T, line string, a args) uint64 {
	if a.has("unasked") {
		return 0
	}
	switch a.verb[0] {
	case '!':
		turn := "turn " + a.arg(0) + " " + a.arg(1)
		require.NotEmpty(t, o[turn], "that turn does not run: %q", line)
		if a.verb == "! ended" {
			delete(o, turn)
		}
		return 0
	case '<':
	default:
		return 0
	}
	key := a.verb[2:] + " " + a.arg(0)
	switch a.verb {
	case "< evaluated", "< stored", "< asked":
		key += " " + a.arg(1)
	case "< answered", "< judged", "< phase":
		key += " " + a.arg(1) + " " + a.arg(2)
	}
	require.NotEmpty(t, o[key], "nobody asked for this: %q; open are %v", line, o)
	gen := o[key][0]
	o[key] = o[key][1:]
	return gen
}

func questionsOf(e Effect) []string {
	one := func(words ...any) []string {
		return []string{strings.TrimSuffix(fmt.Sprintln(words...), "\n")}
	}
	switch e := e.(type) {
	case ReadSnapshot:
		return one("snapshot", e.Session)
	case ReadSpec:
		return one("spec", e.Session)
	case Scan:
		var keys []string
		for _, order := range e.Sessions {
			keys = append(keys, one("scan", order.Session)...)
		}
		return keys
	case Store:
		return one("stored", e.Session, e.Out.SourceID)
	case CloseHarness:
		return one("closed", e.Session)
	case Evaluate:
		return one("evaluated", e.Session, e.Result)
	case PatchLabels:
		return one("patched", e.Session)
	case ReadChildren:
		return one("children", e.Session)
	case ReadText:
		return one("text", e.Session)
	case FindChild:
		return one("found", e.Session)
	case ListSiblings:
		return one("siblings", e.Session)
	case CreateChild:
		return one("created", e.Session)
	case StampChild:
		return one("stamped", e.Session)
	case PostTask:
		return one("posted", e.Session)
	case SpawnSession:
		return one("spawned", e.Session)
	case LookUp:
		return one("looked", e.Session)
	case UseTerminal:
		return one("used", e.Session)
	case StartTurn:
		return one("turn", e.Start.Session, e.Start.Turn)
	case CallTool:
		return one("answered", e.Session, e.Turn, e.CallID)
	case JudgePhase:
		return one("phase", e.Session, e.Turn, e.ID)
	case JudgeUse:
		return one("judged", e.Session, e.Turn, e.Question)
	case PostControl:
		return one("asked", e.Session, e.Child)
	case PostWake:
		return one("woke", e.Session)
	}
	return nil
}
