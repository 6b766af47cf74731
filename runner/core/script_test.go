package core

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

var update = flag.Bool("update", false, "rewrite the expectations of the scripts")

// TestScripts runs the dialogues under testdata. A scenario begins at a line
// "# name"; then events, each followed by the exact records and effects, two
// spaces in:
//
//	>  a request        <  the answer to a question
//	!  a running turn   ~  a timer
//	up, down, seen, restart (fold the journal), checkpoint, wipe (lose it)
//
// What is not listed fails the script.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var rewritten strings.Builder
		for _, sc := range scenarios(string(raw)) {
			got := sc.text // if it is not run
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+sc.name, func(t *testing.T) {
				got = sc.play(t)
				if !*update {
					require.Equal(t, sc.text, got, "in %s", file)
				}
			})
			rewritten.WriteString(got)
		}
		if *update && !t.Failed() {
			require.NoError(t, os.WriteFile(file, []byte(rewritten.String()), 0o644))
		}
	}
}

type scenario struct{ name, text string }

func scenarios(text string) []scenario {
	var list []scenario
	for _, line := range strings.SplitAfter(text, "\n") {
		if name, ok := strings.CutPrefix(line, "# "); ok {
			list = append(list, scenario{name: strings.TrimSpace(name)})
		}
		if len(list) > 0 {
			list[len(list)-1].text += line
		}
	}
	return list
}

// play runs the events of a scenario and returns it with what really happened.
func (sc scenario) play(t *testing.T) string {
	p := newPlayer()
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(sc.text, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//") {
			continue
		}
		for _, got := range p.do(t, line) {
			out.WriteString("  " + got + "\n")
		}
	}
	return out.String()
}

// player drives one core and keeps its journal.
type player struct {
	core    *Core
	journal []wire.Record
	ids     int
	req     Req
	traits  map[string]wire.Traits
	now     Time
	open    openQuestions
	asked   uint64 // the generation of the question that is being answered
}

func newPlayer() *player {
	p := &player{now: 1_000_000, traits: map[string]wire.Traits{
		"acp:shell":  {OneMessagePerTurn: true},
		"acp:chat":   {},
		"acp:agent":  {Resume: true, History: true},
		"acp:live":   {Resume: true, Steer: true},
		"acp:worker": {}, "acp:other": {}, "claude-native": {Native: true},
		"goose-native": {Native: true}, "cursor-native": {Native: true}, "codex-native": {Native: true, Resume: true},
	}}
	p.start()
	return p
}

func (p *player) start() {
	p.open = openQuestions{}
	p.core = New(Config{
		Runner: "me", LaunchBudget: DefaultLaunchBudget, Terminals: true,
		Traits: func(h string) (wire.Traits, bool) { t, ok := p.traits[h]; return t, ok },
		NewID:  func() string { p.ids++; return fmt.Sprint(p.ids) },
	})
}

func (p *player) do(t *testing.T, line string) []string {
	if line == "restart" {
		p.start()
		require.NoError(t, p.core.Restore(p.journal))
		return p.step(Restored{})
	}
	if line == "checkpoint" {
		p.journal = p.core.Checkpoint()
		return nil
	}
	if line == "wipe" {
		p.journal = nil
		return nil
	}
	if given, ok := strings.CutPrefix(line, "given "); ok {
		p.given(t, words(t, given))
		return nil
	}
	a := words(t, line)
	p.asked = a.number("gen", p.open.answer(t, line, a))
	return p.step(p.parse(t, a))
}

// given makes a precondition true that other events would take many lines to
// reach.
func (p *player) given(t *testing.T, a args) {
	rec := wire.Record{Session: a.arg(0)}
	switch a.verb {
	case "work":
		rec.Kind = wire.RecChild
		rec.State = encode(childState{Work: &work{
			Parent: a.get("parent"), ID: a.get("id"), Agent: a.get("agent"), Title: a.get("title"),
			State: workState(first(a.get("state"), "launching")), Output: a.get("output"), Delivered: a.has("delivered"),
			Stamp: a.get("stamp"),
		}})
	case "cursor":
		rec.Kind, rec.Cursor = wire.RecCursor, a.arg(1)
	case "drained":
		rec.Kind, rec.State = wire.RecChild, encode(childState{Drained: a.get("id")})
	case "rail":
		rec.Kind = wire.RecRail
		rec.State = encode(rail{Parent: a.get("parent"), Title: a.get("tool") + ":" + a.get("name"), Tool: a.get("tool"), Session: a.get("name")})
	case "inbox":
		p.core.session(a.arg(0)).named = true
		return
	case "agent": // that this process has read
		p.core.session(a.arg(0)).spec = spec(a)
		return
	case "harness": // that this process itself found
		p.core.session(a.arg(0)).warm = a.arg(1)
		return
	case "identity":
		rec.Kind = wire.RecIdentity
		rec.State = encode(identity{Known: true, AgentID: a.get("agent"), SubAgent: a.get("sub"), ParentID: a.get("parent"), Wrapper: a.get("wrapper"), Override: a.get("override")})
	default:
		require.Failf(t, "unknown precondition", "%q", a.verb)
	}
	require.NoError(t, p.core.apply(rec))
	p.journal = append(p.journal, rec)
}

func (p *player) step(ev Event) []string {
	out := p.core.Step(p.now, ev)
	p.journal = append(p.journal, out.Records...)
	lines := make([]string, 0, len(out.Records)+len(out.Effects))
	for _, r := range out.Records {
		lines = append(lines, squeeze(renderRecord(r)))
	}
	for _, e := range out.Effects {
		p.open.asked(e)
		lines = append(lines, squeeze(renderEffect(e)))
	}
	return lines
}
