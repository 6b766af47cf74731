package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// said is one line of a world's dialogue: an event, record or effect, or a word
// of the world's own; with what the line must tell of the moment if it is to mean
// the same in a script.
type said struct {
	it      any
	tunnel  uint64 // the connection that was up
	calls   int    // tool calls of several steps so far
	req     Req    // the last request
	cursor  string // of the session
	aged    bool   // the session's caches were dropped before
	again   bool   // the same answer again
	session string // of an answer that does not say
	never   bool   // it was lost with the process
}

// say adds a line to the dialogue, before the core has seen the event.
func (w *world) say(it any) {
	l := said{it: it}
	if ev, ok := it.(Event); ok {
		if _, first := ev.(Restored); first && len(w.dialogue) == 0 {
			it = "// a new runner"
		}
		l = said{it: it, tunnel: w.core.tunnel, calls: w.core.calls, req: w.req, again: w.twice}
		if s := w.core.sessions[sessionOf(ev)]; s != nil {
			l.cursor, l.aged = s.Cursor, s.gen != 0
		}
		if looked, ok := ev.(LookedUp); ok && w.requests[looked.Req] != nil {
			l.session = w.requests[looked.Req].session
		}
	}
	w.dialogue = append(w.dialogue, l)
}

func sessionOf(ev Event) string {
	switch ev := ev.(type) {
	case SnapshotRead:
		return ev.Session
	case SpecRead:
		return ev.Session
	case Scanned:
		return ev.Session
	case WakePosted:
		return ev.Session
	case Evaluated:
		return ev.Session
	}
	return ""
}

// tell is the dialogue of a world so far. As a file under testdata it is a
// script (TestWorldsAreScripts).
func (w *world) tell() string {
	var out strings.Builder
	for _, l := range w.dialogue {
		out.WriteString(l.String() + "\n")
	}
	return out.String()
}

func (l said) String() string {
	switch it := l.it.(type) {
	case string:
		return it
	case wire.Record:
		return "  " + squeeze(renderRecord(it))
	case Effect:
		return "  " + squeeze(renderEffect(it))
	case Event:
		line := strings.Join(l.words(it), " ")
		if l.never {
			return "// it dies, and this never was: " + line
		}
		return line
	}
	return fmt.Sprintf("// %v", l.it)
}

// words are those of an event's line. What parse reads, and what it assumes of a
// word that is not there, is in script_parse_test.go.
func (l said) words(ev Event) []string {
	if list := l.answers(ev); list != nil {
		return list
	}
	switch ev := ev.(type) {
	case Restored:
		return []string{"restart"}
	case TunnelUp:
		return wordsOf("up", numberUnless(ev.Gen, "gen", l.tunnel+1))
	case TunnelDown:
		return wordsOf("down", numberUnless(ev.Gen, "gen", l.tunnel))
	case StreamOpened:
		return wordsOf("> stream", ev.Session, numberUnless(ev.Tunnel, "tunnel", l.tunnel))
	case RequestGone:
		return wordsOf("gone", fmt.Sprint(ev.Req))
	case Seen:
		return wordsOf("seen", ev.Session, ev.Turn)
	case TimerFired:
		return wordsOf("~ timer", ev.Session, string(ev.Key))
	case Frame:
		return l.frame(ev)
	case TurnEnded:
		return wordsOf("! ended", ev.Session, ev.Turn, string(ev.End.Outcome), numberUnless(uint64(ev.N), "n", 0))
	case Init:
		list := wordsOf("> init", ev.Session)
		if ev.Envelope == nil {
			return append(list, "agent="+ev.AgentID)
		}
		e := ev.Envelope
		list = append(list, "v2")
		list = append(list, snapshotWords(e.Snapshot)...)
		return append(list, wordsOf(when("suppress", e.Suppress), when("resume", e.Resume), pair("recovery", e.RecoveryID), pair("version", e.ServerVersion))...)
	case Message:
		return append(wordsOf("> message", ev.Session, pair("id", ev.ItemID), pair("stable", ev.StableID)),
			wordsOf("text="+quoted(plain(ev.Content)), pair("agent", ev.AgentID), pair("rev", ev.Revision), pair("override", ev.Override),
				pair("model", ev.Model), pair("effort", ev.Effort), when("tools=theirs", len(ev.Tools) > 0))...)
	case Control:
		return wordsOf("> event", ev.Session, ev.Kind, pair("effort", ev.Effort))
	case Answer:
		return wordsOf("> answer", ev.Session, ev.Question, ev.Action)
	case ToolResult:
		return wordsOf("> result", ev.Session, ev.CallID, "output="+quoted(ev.Output))
	case ResolveSkill:
		return wordsOf("> skill", ev.Session, ev.Name, pair("args", ev.Arguments))
	case AgentAsked:
		return wordsOf("> agent", ev.Session)
	case Told:
		var event struct{ Type string }
		_ = json.Unmarshal(ev.Event, &event)
		return wordsOf("told", ev.Session, event.Type, when("keep", ev.Keep))
	case Retire:
		return wordsOf("> retire")
	case Get:
		return wordsOf("> get", ev.Session)
	case Delete:
		return wordsOf("> delete", ev.Session)
	case Reset:
		return wordsOf("> reset", ev.Session, string(ev.Kind))
	case ToolList:
		return wordsOf("> tools", ev.Session)
	case ToolCall:
		return wordsOf("> tool", ev.Session, ev.Name, pair("op", ev.Op), "args="+singled(ev.Args))
	case Status:
		list := wordsOf("> status", ev.Session, ev.Status, when("completed", ev.Completed), pair("outcome", string(ev.Outcome)), pair("response", ev.Response))
		if ev.Output != nil {
			list = append(list, "output="+quoted(*ev.Output))
		}
		if ev.Error != nil {
			list = append(list, "code="+ev.Error.Code)
		}
		return list
	}
	return []string{fmt.Sprintf("// no word for %T", ev)}
}

func (l said) frame(f Frame) []string {
	switch {
	case f.Ask != nil && f.Ask.Tool != nil:
		return wordsOf("! asks", f.Session, f.Turn, f.Ask.ID, "tool="+f.Ask.Tool.Name)
	case f.Ask != nil:
		return wordsOf("! asks", f.Session, f.Turn, f.Ask.ID)
	case f.Native != "":
		return wordsOf("! native", f.Session, f.Turn, f.Native)
	case f.Consumed != "":
		return wordsOf("! took", f.Session, f.Turn, f.Consumed)
	case f.Policy != nil:
		return wordsOf("! judges", f.Session, f.Turn, f.Policy.ID, f.Policy.Phase)
	case f.Item != nil:
		return wordsOf("! frame", f.Session, f.Turn, fmt.Sprint(f.N), "item="+singled(f.Item))
	}
	return wordsOf("! frame", f.Session, f.Turn, fmt.Sprint(f.N), "text="+quoted(f.Text))
}

// answers are the words of an answer to a question; nil for any other event.
func (l said) answers(ev Event) []string {
	gen := func(gen uint64) string {
		if gen == 0 && !l.aged && !l.again {
			return ""
		}
		return fmt.Sprint("gen=", gen)
	}
	key := func(key string) string { return pair("key", unless(key, fmt.Sprint(l.calls))) }
	switch ev := ev.(type) {
	case SnapshotRead:
		return append(wordsOf("< snapshot", ev.Session, gen(ev.Gen), because(ev.Err)), snapshotWords(ev.Snapshot)...)
	case SpecRead:
		return append(wordsOf("< spec", ev.Session), append(specWords(ev.Spec), wordsOf(gen(ev.Gen), because(ev.Err))...)...)
	case Scanned:
		list := append(wordsOf("< scan", ev.Session, when("unasked", l.again), gen(ev.Gen), because(ev.SnapshotErr)), snapshotWords(ev.Snapshot)...)
		list = append(list, wordsOf(numberUnless(ev.Tunnel, "tunnel", l.tunnel), when("restarted", ev.Restarted))...)
		if ev.After != l.cursor {
			list = append(list, "after="+ev.After)
		}
		if ev.ItemsErr != nil {
			list = append(list, "items="+quoted(ev.ItemsErr.Error()))
		}
		return append(list, itemWords(ev.Items)...)
	case Stored:
		return wordsOf("< stored", ev.Session, ev.Source, because(ev.Err))
	case HarnessClosed:
		return wordsOf("< closed", ev.Session, because(ev.Err))
	case Evaluated:
		list := wordsOf("< evaluated", ev.Session, fmt.Sprint(ev.Result), strings.ToLower(strings.TrimPrefix(ev.Action, "POLICY_ACTION_")), gen(ev.Life), because(ev.Err))
		if ev.Data != nil {
			list = append(list, "data="+singled(ev.Data))
		}
		return list
	case LabelsPatched:
		v, d := ev.Labels[labelDelivered], ev.Labels[labelDispatch]
		return wordsOf("< patched", ev.Session, first(v, d), when("both", v != "" && d != ""), when("stamp", v == ""), because(ev.Err))
	case ChildrenRead:
		return append(wordsOf("< children", ev.Session, because(ev.Err)), childWords(ev.Children...)...)
	case TextRead:
		return wordsOf("< text", ev.Session, when("text="+quoted(ev.Text), ev.Found), because(ev.Err))
	case ChildFound:
		list := wordsOf("< found", ev.Session, key(ev.Key), because(ev.Err))
		if ev.Found {
			list = append(list, childWords(ev.Child)...)
		}
		return list
	case SiblingsListed:
		return append(wordsOf("< siblings", ev.Session, key(ev.Key), because(ev.Err)), childWords(ev.Children...)...)
	case ChildCreated:
		return wordsOf("< created", ev.Session, ev.Child, key(ev.Key), because(ev.Err))
	case ChildStamped:
		return wordsOf("< stamped", ev.Session, key(ev.Key), because(ev.Err))
	case TaskPosted:
		return wordsOf("< posted", ev.Session, key(ev.Key), because(ev.Err))
	case SessionSpawned:
		return wordsOf("< spawned", ev.Session, ev.Child, key(ev.Key), because(ev.Err))
	case ToolAnswered:
		return wordsOf("< answered", ev.Session, ev.Turn, ev.CallID, "output="+quoted(ev.Output), because(ev.Err))
	case UseJudged:
		return wordsOf("< judged", ev.Session, ev.Turn, ev.Question, strings.ToLower(strings.TrimPrefix(ev.Action, "POLICY_ACTION_")), because(ev.Err))
	case TerminalUsed:
		return wordsOf("< used", ev.Session, key(ev.Key), "output="+quoted(ev.Output))
	case PhaseJudged:
		return wordsOf("< phase", ev.Session, ev.Turn, ev.ID, ev.Phase,
			pair("verdict", strings.ToLower(strings.TrimPrefix(ev.Verdict.Action, "POLICY_ACTION_"))), because(ev.Err))
	case LookedUp:
		return wordsOf("< looked", l.session, numberUnless(uint64(ev.Req), "req", uint64(l.req)), "output="+quoted(ev.Output), because(ev.Err))
	case ControlPosted:
		return wordsOf("< asked", ev.Session, ev.Child, ev.Type, when("soft", ev.Soft), numberUnless(uint64(ev.Req), "req", uint64(l.req)), because(ev.Err))
	case WakePosted:
		return wordsOf("< woke", ev.Session, gen(ev.Life), because(ev.Err))
	}
	return nil
}

func snapshotWords(snap wire.Snapshot) []string {
	return wordsOf(pair("agent", snap.AgentID), pair("sub", snap.SubAgentName), pair("parent", snap.ParentID), pair("title", snap.Title), pair("name", snap.AgentName),
		pair("runner", snap.RunnerID), pair("status", snap.Status), pair("code", snap.LastErrorCode), pair("override", snap.HarnessOverride),
		pair("wrapper", snap.Labels[labelWrapper]), pair("dispatch", snap.Labels[labelDispatch]), pair("receipt", snap.Labels[labelDelivered]),
		when("archived", snap.Archived))
}

// specWords are name, harness and each sub-agent by its path.
func specWords(spec *wire.Spec) []string {
	if spec == nil {
		return nil
	}
	list := wordsOf(spec.Name, when("spawn", spec.Spawn), "harness="+spec.Harness)
	for _, d := range spec.Terminals {
		list = append(list, "terminal="+d.Name)
	}
	for _, k := range spec.Skills {
		list = append(list, "skill="+quoted(k.Name+":"+k.Text))
	}
	var below func(path string, s *wire.Spec)
	below = func(path string, s *wire.Spec) {
		for _, a := range s.Agents {
			list = append(list, "sub="+path+a.Name+":"+strings.TrimPrefix(a.Harness, "acp:"))
			below(path+a.Name+"/", a)
		}
	}
	below("", spec)
	return list
}

func itemWords(items []wire.Item) (list []string) {
	for _, it := range items {
		word := it.ID + "@" + it.ResponseID
		switch {
		case isUser(it) && it.ResponseID != "":
			word = "marker=" + word
		case isUser(it):
			word = "user=" + quoted(it.ID+":"+plain(it.Content))
		case it.Type == "message":
			word = "assistant=" + word
		case it.Type == "error":
			word = "error=" + word
		case it.Type == "function_call":
			word = "call=" + word
		case it.Type == "function_call_output":
			word = "output=" + word
		}
		list = append(list, word)
	}
	return list
}

func childWords(children ...wire.ChildSummary) (list []string) {
	for _, c := range children {
		list = append(list, "child="+c.ID+":"+c.Status)
		if c.Busy != (c.Status == "in_progress") {
			list = append(list, fmt.Sprint("busy=", c.Busy))
		}
		list = append(list, wordsOf(pair("agent", c.Tool), pair("title", c.SessionName), pair("of", c.AgentName),
			pair("d", c.Labels[labelDispatch]), pair("v", c.Labels[labelDelivered]), pair("after", c.Labels[labelAfter]),
			pair("wrapper", c.Labels[labelWrapper]), pair("closed", c.Labels[labelClosed]), pair("code", c.ErrorCode))...)
	}
	return list
}

// wordsOf leaves out what is empty.
func wordsOf(words ...string) (list []string) {
	for _, word := range words {
		if word != "" {
			list = append(list, word)
		}
	}
	return list
}

func pair(key, value string) string {
	if value == "" {
		return ""
	}
	return key + "=" + quoted(value)
}

func numberUnless(n uint64, key string, assumed uint64) string {
	if n == assumed {
		return ""
	}
	return fmt.Sprint(key, "=", n)
}

func unless(word, assumed string) string { return when(word, word != assumed) }

func when(word string, yes bool) string {
	if yes {
		return word
	}
	return ""
}

func quoted(text string) string {
	if strings.Contains(text, " ") {
		return `"` + text + `"`
	}
	return text
}

// singled is JSON with single quotes.
func singled(raw json.RawMessage) string { return strings.ReplaceAll(string(raw), `"`, "'") }

func plain(content json.RawMessage) string { return wire.Text(content) }

func because(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, wire.ErrNotFound):
		return "err=404"
	case errors.Is(err, wire.ErrRejected):
		return "err=rejected"
	case errors.Is(err, wire.ErrConflict):
		return "err=409"
	}
	return "err=" + quoted(err.Error())
}
