package core

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// args are the words of a line: the verb, plain words, and key=value pairs, of
// which order and repetition matter for items.
type args struct {
	verb  string
	plain []string
	pairs [][2]string
}

func (a args) get(key string) string {
	for _, p := range a.pairs {
		if p[0] == key {
			return p[1]
		}
	}
	return ""
}

func (a args) has(word string) bool {
	for _, w := range a.plain {
		if w == word {
			return true
		}
	}
	return false
}

func (a args) arg(n int) string {
	if n < len(a.plain) {
		return a.plain[n]
	}
	return ""
}

// words splits a line, keeping quoted strings whole.
func words(t *testing.T, line string) args {
	var a args
	quoted := false
	for n, w := range strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	}) {
		w = strings.ReplaceAll(w, `"`, "")
		key, value, pair := strings.Cut(w, "=")
		switch {
		case n == 0 && len(w) == 1:
			a.verb = w + " "
		case a.verb == "" || strings.HasSuffix(a.verb, " "):
			a.verb += w
		case pair:
			a.pairs = append(a.pairs, [2]string{key, value})
		default:
			a.plain = append(a.plain, w)
		}
	}
	require.NotEmpty(t, a.verb)
	return a
}

func (p *player) parse(t *testing.T, a args) Event {
	s := a.arg(0)
	if strings.HasPrefix(a.verb, "> ") {
		p.req++
	}
	switch a.verb {
	case "> message":
		return Message{
			Req: p.req, Session: s, ItemID: a.get("id"), StableID: a.get("stable"), Content: encode(a.get("text")),
			AgentID: a.get("agent"), Revision: a.get("rev"), Override: a.get("override"), Model: a.get("model"), Effort: a.get("effort"),
			Tools: clientTools(a),
		}
	case "> init":
		ev := Init{Req: p.req, Session: s, AgentID: a.get("agent"), SubAgent: a.get("sub")}
		if a.has("v2") {
			ev.Envelope = &Envelope{
				Snapshot: snapshot(a), Suppress: a.has("suppress"), Resume: a.has("resume"), RecoveryID: a.get("recovery"),
				ServerVersion: a.get("version"),
			}
		}
		return ev
	case "> event":
		return Control{Req: p.req, Session: s, Kind: a.arg(1), Effort: a.get("effort")}
	case "> answer":
		return Answer{Req: p.req, Session: s, Question: a.arg(1), Action: a.arg(2), Content: quotedJSON(a.get("content"))}
	case "> status":
		ev := Status{
			Req: p.req, Session: s, Status: a.arg(1), Completed: a.has("completed"), Outcome: wire.Outcome(a.get("outcome")),
			Response: a.get("response"),
		}
		if hasPair(a, "output") {
			out := a.get("output")
			ev.Output = &out
		}
		if out := long(a); out != "" {
			ev.Output = &out
		}
		if code := a.get("code"); code != "" {
			ev.Error = &wire.TurnError{Code: code, Message: "it " + code}
		}
		return ev
	case "> tool":
		return ToolCall{Req: p.req, Session: s, Name: a.arg(1), Op: a.get("op"), Args: quotedJSON(first(a.get("args"), "{}"))}
	case "< evaluated":
		n, err := strconv.Atoi(a.arg(1))
		require.NoError(t, err)
		ev := Evaluated{Session: s, Life: p.asked, Result: n, Action: "POLICY_ACTION_" + strings.ToUpper(a.arg(2)), Reason: a.get("reason"), Err: failure(a.get("err"))}
		if data := a.get("data"); data != "" {
			ev.Data = json.RawMessage(strings.ReplaceAll(data, "'", `"`))
		}
		return ev
	case "< patched":
		labels := map[string]string{labelDelivered: a.arg(1), labelDispatch: a.arg(1)}
		if a.has("stamp") {
			delete(labels, labelDelivered)
		} else if !a.has("both") {
			delete(labels, labelDispatch)
		}
		return LabelsPatched{Session: s, Labels: labels, Err: failure(a.get("err"))}
	case "< children":
		return ChildrenRead{Session: s, Children: children(a), Err: failure(a.get("err"))}
	case "< text":
		return TextRead{Session: s, Text: a.get("text"), Found: hasPair(a, "text"), Err: failure(a.get("err"))}
	case "< found":
		ev := ChildFound{Session: s, Key: p.key(a), Err: failure(a.get("err"))}
		if list := children(a); len(list) > 0 {
			ev.Child, ev.Found = list[0], true
			ev.Child.Foreign = a.has("foreign")
		}
		return ev
	case "< siblings":
		return SiblingsListed{Session: s, Key: p.key(a), Children: children(a), Err: failure(a.get("err"))}
	case "< created":
		return ChildCreated{Session: s, Key: p.key(a), Child: a.arg(1), Err: failure(a.get("err"))}
	case "< stamped":
		return ChildStamped{Session: s, Key: p.key(a), Err: failure(a.get("err"))}
	case "< posted":
		return TaskPosted{Session: s, Key: p.key(a), Err: failure(a.get("err"))}
	case "< answered":
		return ToolAnswered{Session: s, Turn: a.arg(1), CallID: a.arg(2), Output: a.get("output"), Err: failure(a.get("err"))}
	case "< judged":
		ev := UseJudged{Session: s, Turn: a.arg(1), Question: a.arg(2), Err: failure(a.get("err"))}
		if verdict := a.arg(3); verdict != "" {
			ev.Action = "POLICY_ACTION_" + strings.ToUpper(verdict)
		}
		return ev
	case "! asks":
		ask := &wire.Elicitation{ID: a.arg(2), Method: "elicitation/create", Params: json.RawMessage("{}")}
		if tool := a.get("tool"); tool != "" {
			ask.Tool = &wire.ToolUse{Name: tool, Args: json.RawMessage("{}")}
		}
		return Frame{Session: s, Turn: a.arg(1), Ask: ask}
	case "! took":
		return Frame{Session: s, Turn: a.arg(1), Consumed: a.arg(2)}
	case "! judges":
		return Frame{Session: s, Turn: a.arg(1), Policy: &wire.PolicyRequest{ID: a.arg(2), Phase: a.arg(3), Data: json.RawMessage("{}")}}
	case "< phase":
		ev := PhaseJudged{Session: s, Turn: a.arg(1), ID: a.arg(2), Phase: a.arg(3), Err: failure(a.get("err"))}
		if verdict := a.get("verdict"); verdict != "" {
			ev.Verdict = wire.Verdict{Action: "POLICY_ACTION_" + strings.ToUpper(verdict)}
		}
		return ev
	case "> result":
		return ToolResult{Req: p.req, Session: s, CallID: a.arg(1), Output: a.get("output")}
	case "! native":
		return Frame{Session: s, Turn: a.arg(1), Native: a.arg(2)}
	case "> skill":
		return ResolveSkill{Req: p.req, Session: s, Name: a.arg(1), Arguments: a.get("args")}
	case "> retire":
		return Retire{Req: p.req}
	case "> tools":
		return ToolList{Req: p.req, Session: s}
	case "< looked":
		return LookedUp{Req: Req(a.number("req", uint64(p.req))), Output: a.get("output"), Err: failure(a.get("err"))}
	case "< spawned":
		return SessionSpawned{Session: s, Key: p.key(a), Child: a.arg(1), AgentName: a.get("name"), Err: failure(a.get("err"))}
	case "< asked":
		return ControlPosted{Session: s, Child: a.arg(1), Type: a.arg(2), Soft: a.has("soft"), Req: Req(a.number("req", uint64(p.req))), Err: failure(a.get("err"))}
	case "< woke":
		return WakePosted{Session: s, Life: p.asked, Err: failure(a.get("err"))}
	case "> agent":
		return AgentAsked{Req: p.req, Session: s}
	case "told":
		return Told{Session: s, Event: encode(map[string]string{"type": a.arg(1)}), Keep: a.has("keep")}
	case "< used":
		return TerminalUsed{Session: s, Key: p.key(a), Output: a.get("output")}
	case "> get":
		return Get{Req: p.req, Session: s}
	case "> delete":
		return Delete{Req: p.req, Session: s}
	case "> reset":
		return Reset{Req: p.req, Session: s, Kind: ResetKind(a.arg(1))}
	case "> stream":
		return StreamOpened{Session: s, Tunnel: a.number("tunnel", p.core.tunnel)}
	case "gone":
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		return RequestGone{Req: Req(n)}
	case "< snapshot":
		return SnapshotRead{Session: s, Gen: p.asked, Snapshot: snapshot(a), Err: failure(a.get("err"))}
	case "< spec":
		return SpecRead{Session: s, Gen: p.asked, Spec: spec(a), Err: failure(a.get("err"))}
	case "< scan":
		tunnel := a.number("tunnel", p.core.tunnel)
		if a.has("old") {
			tunnel--
		}
		after := a.get("after")
		if live := p.core.sessions[s]; live != nil && !hasPair(a, "after") {
			after = live.Cursor
		}
		return Scanned{
			Session: s, After: after, Tunnel: tunnel, Gen: p.asked, Snapshot: snapshot(a), SnapshotErr: failure(a.get("err")),
			Items: items(t, a), ItemsErr: failure(a.get("items")), Restarted: a.has("restarted"),
		}
	case "< stored":
		return Stored{Session: s, Source: a.arg(1), Err: failure(a.get("err"))}
	case "< closed":
		return HarnessClosed{Session: s, Err: failure(a.get("err"))}
	case "! frame":
		n, err := strconv.Atoi(a.arg(2))
		require.NoError(t, err)
		f := Frame{Session: s, Turn: a.arg(1), N: n, Text: first(a.get("text"), long(a))}
		if item := a.get("item"); item != "" {
			f.Item = json.RawMessage(strings.ReplaceAll(item, "'", `"`))
		}
		return f
	case "! ended":
		n := 0
		if a.get("n") != "" {
			var err error
			n, err = strconv.Atoi(a.get("n"))
			require.NoError(t, err)
		}
		end := wire.TurnEnd{Outcome: wire.Outcome(a.arg(2)), Note: a.get("note")}
		if code := a.get("code"); code != "" {
			end.Error = &wire.TurnError{Code: code, Message: "it " + code}
		}
		if message := a.get("says"); message != "" {
			end.Error = &wire.TurnError{Code: a.get("code"), Type: a.get("type"), Message: message}
		}
		end.Usage = quotedJSON(a.get("usage"))
		return TurnEnded{Session: s, Turn: a.arg(1), N: n, End: end}
	case "~ timer":
		return TimerFired{Session: s, Key: TimerKey(a.arg(1))}
	case "up":
		return TunnelUp{Gen: a.number("gen", p.core.tunnel+1)}
	case "down":
		return TunnelDown{Gen: a.number("gen", p.core.tunnel)}
	case "seen":
		return Seen{Session: s, Turn: a.arg(1)}
	}
	require.Failf(t, "unknown line", "%q", a.verb)
	return nil
}

// clientTools reads tools=name,name.
func clientTools(a args) (list []json.RawMessage) {
	if names := a.get("tools"); names != "" {
		for _, name := range strings.Split(names, ",") {
			list = append(list, encode(map[string]any{"type": "function", "name": name}))
		}
	}
	return list
}

// long is a text of so many letters.
func long(a args) string {
	n, err := strconv.Atoi(a.get("long"))
	if err != nil {
		return ""
	}
	return strings.Repeat("y", n)
}

func snapshot(a args) wire.Snapshot {
	snap := wire.Snapshot{
		ID: a.arg(0), AgentID: a.get("agent"), SubAgentName: a.get("sub"), RunnerID: a.get("runner"),
		Status: a.get("status"), LastErrorCode: a.get("code"), Archived: a.has("archived"), Workspace: a.get("workspace"),
		ParentID: a.get("parent"), Title: a.get("title"), AgentName: a.get("name"), HarnessOverride: a.get("override"), ModelOverride: a.get("model"),
		Labels: map[string]string{labelWrapper: a.get("wrapper"), labelDispatch: a.get("dispatch"), labelDelivered: a.get("receipt")},
	}
	for _, p := range a.pairs {
		if p[0] == "pending" {
			snap.Pending = append(snap.Pending, p[1])
		}
	}
	return snap
}

// spec reads name, harness and sub=name:harness[:model[:effort]] pairs; the
// agent of an agent is named by its path, and comes after that one.
func spec(a args) *wire.Spec {
	s := &wire.Spec{Name: a.arg(1), Harness: a.get("harness"), Spawn: a.has("spawn")}
	for _, p := range a.pairs {
		if p[0] == "sub" {
			path, harness, _ := strings.Cut(p[1], ":")
			harness, rest, _ := strings.Cut(harness, ":")
			model, effort, _ := strings.Cut(rest, ":")
			if !strings.HasSuffix(harness, "-native") {
				harness = "acp:" + harness
			}
			above := s
			names := strings.Split(path, "/")
			for _, name := range names[:len(names)-1] {
				above = above.Find(name)
			}
			above.Agents = append(above.Agents, &wire.Spec{Name: names[len(names)-1], Harness: harness, Model: model, Effort: effort})
		}
		if p[0] == "terminal" {
			s.Terminals = append(s.Terminals, wire.Declared{Name: p[1]})
		}
		if p[0] == "skill" {
			name, text, _ := strings.Cut(p[1], ":")
			s.Skills = append(s.Skills, wire.Skill{Name: name, Text: text, Dir: a.get("dir")})
		}
	}
	return s
}

var itemTypes = map[string]string{
	"call": "function_call", "output": "function_call_output", "compaction": "compaction", "reasoning": "reasoning",
}

// items reads user=ID:text, assistant=ID@response, error=ID@response:code,
// marker=ID@response, and call=, output=, compaction=, reasoning=ID@response.
func items(t *testing.T, a args) []wire.Item {
	var list []wire.Item
	for _, p := range a.pairs {
		id, rest, _ := strings.Cut(p[1], ":")
		id, response, answers := strings.Cut(id, "@")
		if source, from, ok := strings.Cut(p[1], "@"); ok && !answers && p[0] != "user" { // an id of ours has a colon
			id, response = source, from
		}
		switch p[0] {
		case "user":
			list = append(list, wire.Item{ID: id, Type: "message", Role: "user", Content: encode(rest)})
		case "marker":
			list = append(list, wire.Item{ID: id, Type: "message", Role: "user", ResponseID: response, Content: encode(interruptedText)})
		case "assistant":
			list = append(list, wire.Item{ID: id, Type: "message", Role: "assistant", ResponseID: response})
		case "error":
			list = append(list, wire.Item{ID: id, Type: "error", ResponseID: response, Code: rest, Message: "it " + rest})
		case "call", "output", "compaction", "reasoning":
			list = append(list, wire.Item{ID: id, Type: itemTypes[p[0]], ResponseID: response})
		}
	}
	return list
}

// key names the call that is answered: the one that began last.
func (p *player) key(a args) string { return first(a.get("key"), strconv.Itoa(p.core.calls)) }

// number is that of a word, or what is assumed without one.
func (a args) number(key string, assumed uint64) uint64 {
	if n, err := strconv.ParseUint(a.get(key), 10, 64); err == nil {
		return n
	}
	return assumed
}

// children reads child=ID:status pairs, each followed by its own agent=,
// title=, of= (the agent of its session), d=, v=, code=, after=, wrapper=, busy=.
func children(a args) []wire.ChildSummary {
	var list []wire.ChildSummary
	for _, p := range a.pairs {
		if p[0] == "child" {
			id, status, _ := strings.Cut(p[1], ":")
			list = append(list, wire.ChildSummary{ID: id, Status: status, Busy: status == "in_progress", Labels: map[string]string{}})
			continue
		}
		if len(list) == 0 {
			continue
		}
		c := &list[len(list)-1]
		switch p[0] {
		case "agent":
			c.Tool = p[1]
		case "title":
			c.SessionName = p[1]
		case "of":
			c.AgentName = p[1]
		case "busy":
			c.Busy = p[1] == "true"
		case "d":
			c.Labels[labelDispatch] = p[1]
		case "v":
			c.Labels[labelDelivered] = p[1]
		case "after":
			c.Labels[labelAfter] = p[1]
		case "wrapper":
			c.Labels[labelWrapper] = p[1]
		case "closed":
			c.Labels[labelClosed] = p[1]
		case "code":
			c.ErrorCode, c.ErrorMessage = p[1], "it "+p[1]
		}
	}
	return list
}

// quotedJSON reads JSON that is written with single quotes.
func quotedJSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(strings.ReplaceAll(text, "'", `"`))
}

func hasPair(a args, key string) bool {
	for _, p := range a.pairs {
		if p[0] == key {
			return true
		}
	}
	return false
}

func failure(name string) error {
	switch name {
	case "":
		return nil
	case "404":
		return wire.ErrNotFound
	case "403":
		return wire.ErrDenied
	case "rejected":
		return wire.ErrRejected
	case "409":
		return wire.ErrConflict
	}
	return errors.New(name)
}
