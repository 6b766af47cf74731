package core

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// squeeze writes a long run of one letter in short: y{12000}.
func squeeze(line string) string {
	const long = 100
	var out strings.Builder
	for i := 0; i < len(line); {
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], line[i:i+1]))
		switch {
		case n == 0: // inside of a character
			out.WriteByte(line[i])
			n = 1
		case n >= long:
			fmt.Fprintf(&out, "%s{%d}", line[i:i+1], n)
		default:
			out.WriteString(line[i : i+n])
		}
		i += n
	}
	return out.String()
}

func renderRecord(r wire.Record) string {
	parts := []string{"record", string(r.Kind), r.Session}
	switch r.Kind {
	case wire.RecItem:
		parts = append(parts, r.Item, string(r.ItemState))
		if r.Source != "" {
			parts = append(parts, "by "+r.Source)
		}
	case wire.RecCursor:
		parts = append(parts, r.Cursor)
	case wire.RecOrder:
		parts = append(parts, "["+strings.Join(r.Inputs, " ")+"]")
	case wire.RecOpened:
		parts = append(parts, r.Turn, r.Response, "over ["+strings.Join(r.Inputs, " ")+"]")
	case wire.RecOut:
		parts = append(parts, r.Out.SourceID, r.Out.ItemType)
	case wire.RecStored, wire.RecRecoveryID:
		parts = append(parts, r.Source)
	case wire.RecAsked:
		parts = append(parts, r.Turn, r.Source)
	case wire.RecSettled:
		parts = append(parts, r.Turn, r.Source, string(r.State))
	case wire.RecNative:
		parts = append(parts, string(r.State))
	case wire.RecEnded:
		parts = append(parts, r.Turn, outcome(r.End))
	case wire.RecTook:
		parts = append(parts, r.Turn, r.Item)
	case wire.RecSeen:
		parts = append(parts, r.Turn)
	case wire.RecIdentity:
		parts = append(parts, string(r.State))
	case wire.RecChild:
		parts = append(parts, renderChild(r.State))
	case wire.RecResult:
		var res result
		if err := json.Unmarshal(r.State, &res); err != nil {
			return err.Error()
		}
		parts = append(parts, fmt.Sprintf("#%d %s %s %s/%s %s %q", res.N, res.WorkID, res.Child, res.Agent, res.Title, res.Status, res.Output))
	case wire.RecDrained:
		var d drained
		if err := json.Unmarshal(r.State, &d); err != nil {
			return err.Error()
		}
		parts = append(parts, fmt.Sprintf("took %v", d.Taken))
	}
	return strings.Join(parts, " ")
}

func renderChild(raw json.RawMessage) string {
	var cs childState
	if err := json.Unmarshal(raw, &cs); err != nil {
		return err.Error()
	}
	var parts []string
	if w := cs.Work; w != nil {
		parts = append(parts, w.ID, string(w.State))
		if w.Delivered {
			parts = append(parts, "delivered")
		}
	}
	if cs.Drained != "" {
		parts = append(parts, "drained "+cs.Drained)
	}
	if cs.Receipt != "" {
		parts = append(parts, "receipt owed "+cs.Receipt)
	}
	if cs.Told != "" {
		parts = append(parts, "told "+cs.Told)
	}
	return strings.Join(parts, " ")
}

func outcome(e *wire.TurnEnd) string {
	if e.Error != nil {
		return string(e.Outcome) + ":" + e.Error.Code
	}
	return string(e.Outcome)
}

func renderEffect(e Effect) string {
	switch e := e.(type) {
	case Reply:
		return strings.TrimSpace(fmt.Sprintf("reply %d %d %s", e.Req, e.Status, brief(e.Body)))
	case Publish:
		line := "publish " + e.Session + " " + renderEvent(e.Event)
		if e.Covers != "" {
			line += " covers " + e.Covers
		}
		return line
	case Store:
		return "store " + e.Session + " " + e.Out.SourceID + " " + e.Out.ResponseID + " " + string(e.Out.ItemData)
	case StartTurn:
		s := e.Start
		var in []string
		for _, i := range s.Inputs {
			in = append(in, i.ItemID+"="+string(i.Content))
		}
		line := fmt.Sprintf("start %s %s %s agent=%s over [%s]", s.Session, s.Turn, s.Harness, s.Agent, strings.Join(in, " "))
		var theirs []string
		for _, tool := range s.Tools {
			if name := toolName(tool); !strings.HasPrefix(name, "sys_") {
				theirs = append(theirs, name)
			}
		}
		if len(theirs) > 0 {
			line += " with [" + strings.Join(theirs, " ") + "]"
		}
		if s.Native != "" {
			line += " in " + s.Native
		}
		return line
	case Scan:
		line := fmt.Sprintf("scan #%d", e.Tunnel)
		for _, o := range e.Sessions {
			line += " " + o.Session + ">" + o.After
		}
		return line
	case Advance:
		if e.Stop {
			return "stop pump " + e.Turn
		}
		return "advance " + e.Turn
	case Verdict:
		return fmt.Sprintf("verdict %s items=%d turns=%d deferred=%v", e.Session, e.Items, e.Turns, e.Deferred)
	case Log:
		return "log " + e.Session + " " + e.Msg
	case SetTimer:
		return fmt.Sprintf("timer %s %s %dms", e.Session, e.Key, e.After)
	case StopTimer:
		return fmt.Sprintf("no timer %s %s", e.Session, e.Key)
	case ReadSnapshot:
		return "read snapshot " + e.Session
	case ReadSpec:
		return "read spec " + e.Session + " " + e.AgentID
	case Interrupt:
		return "interrupt " + e.Session + " " + e.Turn
	case CloseHarness:
		line := "close harness " + e.Session
		if e.Tell {
			line += " told"
		}
		if !e.Terminals {
			line += " but not its terminals"
		}
		return line
	case UseTerminal:
		return fmt.Sprintf("use terminal %s %s %s agent=%s in %q", e.Session, e.Name, e.Args, e.Agent.Spec.Name, e.Agent.Workspace)
	case ReadChildren:
		return "read children " + e.Session
	case ReadText:
		return "read text " + e.Session + " after " + e.After
	case FindChild:
		return fmt.Sprintf("find child %s %s/%s", e.Session, e.Agent, e.Name)
	case ListSiblings:
		return "list siblings " + e.Session
	case CreateChild:
		return fmt.Sprintf("create child %s %s", e.Session, encode(e.Child))
	case StampChild:
		return fmt.Sprintf("stamp %s %s", e.Child, encode(e.Labels))
	case PostTask:
		return fmt.Sprintf("post %s %q", e.Child, e.Text)
	case DeleteChild:
		return "delete child " + e.Session
	case CallTool:
		return fmt.Sprintf("call tool %s %s %s %s", e.Turn, e.CallID, e.Call.Name, e.Call.Args)
	case SendToTurn:
		switch e.Msg.Type {
		case wire.Steer:
			return fmt.Sprintf("steer %s %s %s", e.Turn, e.Msg.InjectionID, e.Msg.Content)
		case wire.PolicyVerdict:
			return fmt.Sprintf("verdict %s %s %s", e.Turn, e.Msg.EvaluationID, e.Msg.Action)
		case wire.Approval:
			return strings.TrimSpace(fmt.Sprintf("approve %s %s %s %s", e.Turn, e.Msg.ElicitationID, e.Msg.Action, e.Msg.Content))
		}
		return fmt.Sprintf("send %s %s %s", e.Turn, e.Msg.CallID, e.Msg.Output)
	case JudgePhase:
		return fmt.Sprintf("judge %s %s %s", e.Turn, e.ID, e.Phase)
	case JudgeUse:
		return fmt.Sprintf("judge %s %s %s", e.Turn, e.Question, e.Use.Name)
	case LookUp:
		return fmt.Sprintf("look up %s %s %s", e.Session, e.Name, e.Args)
	case SpawnSession:
		return fmt.Sprintf("spawn %s %s %q", e.Session, encode(e.Child), e.Message)
	case PostControl:
		line := fmt.Sprintf("ask %s %s", e.Child, e.Type)
		if e.Soft {
			line += " soft"
		}
		return line
	case PostWake:
		return "wake " + e.Session + " " + e.Text
	case Evaluate:
		return fmt.Sprintf("evaluate %s #%d", e.Session, e.Result)
	case PatchLabels:
		return fmt.Sprintf("patch %s %s", e.Session, encode(e.Labels))
	case Welcome:
		return "welcome " + e.Session
	case EndStream:
		return "end stream " + e.Session
	case Forget:
		return "forget " + e.Session
	}
	return fmt.Sprintf("%T", e)
}

// brief shows the words of a reply that matter.
func brief(body json.RawMessage) string {
	var b struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Object string `json:"object"`
		Spec   *wire.Spec
		Reason string   `json:"reason"`
		Text   string   `json:"meta_text"`
		Has    []string `json:"available"`
		Result struct {
			Output string `json:"output"`
		} `json:"result"`
	}
	var tools []Tool
	if json.Unmarshal(body, &tools) == nil {
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		return strings.Join(names, " ")
	}
	if json.Unmarshal(body, &b) != nil {
		return string(body)
	}
	if b.Spec != nil {
		return fmt.Sprintf("agent %s terminals=%d agents=%d", b.Spec.Name, len(b.Spec.Terminals), len(b.Spec.Agents))
	}
	if b.Result.Output != "" {
		return fmt.Sprintf("%q", b.Result.Output)
	}
	if b.Text != "" {
		return fmt.Sprintf("%q", b.Text)
	}
	if b.Has != nil {
		return fmt.Sprint(b.Error, " of ", b.Has)
	}
	if b.Reason != "" {
		return b.Error + " " + b.Reason
	}
	return strings.TrimSpace(strings.Join([]string{b.Error, b.Status, b.Object}, " "))
}

func renderEvent(ev json.RawMessage) string {
	var e struct {
		Type       string          `json:"type"`
		Status     string          `json:"status"`
		ResponseID string          `json:"response_id"`
		Question   string          `json:"elicitation_id"`
		Action     string          `json:"action"`
		Reason     string          `json:"reason"`
		Inputs     []string        `json:"input_item_ids"`
		Error      *wire.TurnError `json:"error"`
		Child      json.RawMessage `json:"child"`
		Item       struct {
			CallID string `json:"call_id"`
		} `json:"item"`
		Response struct {
			ID    string          `json:"id"`
			Usage json.RawMessage `json:"usage"`
		} `json:"response"`
	}
	if err := json.Unmarshal(ev, &e); err != nil {
		return err.Error()
	}
	parts := []string{e.Type}
	for _, p := range []string{e.Status, e.ResponseID, e.Response.ID, e.Question, e.Action, e.Reason, string(e.Response.Usage)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(e.Inputs) > 0 {
		parts = append(parts, "over ["+strings.Join(e.Inputs, " ")+"]")
	}
	if e.Error != nil {
		parts = append(parts, "error="+e.Error.Code)
		if e.Error.Type != "" {
			parts = append(parts, "type="+e.Error.Type)
		}
	}
	if e.Item.CallID != "" {
		parts = append(parts, e.Item.CallID)
	}
	if len(e.Child) > 0 {
		parts = append(parts, string(e.Child))
	}
	return strings.Join(parts, " ")
}
