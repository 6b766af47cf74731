package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// The server calls for parents and their children. Each is asked by the core
// and answered by one event; none of them is waited for by anything else.

// wakeTries and wakePause are how a wake is tried before its parent counts as
// stranded; the pause doubles (subagents-catchup.md 7).
const (
	wakeTries = 3
	wakePause = 500 * time.Millisecond
)

// ask carries out an effect of a parent or child in a goroutine of its own. It
// returns false for an effect that is none of these.
func (d *driver) ask(ctx context.Context, e core.Effect) bool {
	srv := d.r.cfg.Server
	answer := d.r.loop.answer
	var run func()
	switch e := e.(type) {
	case core.PostWake:
		run = func() { answer(core.WakePosted{Session: e.Session, Life: e.Life, Err: d.postWake(ctx, e)}) }
	case core.Evaluate:
		run = func() {
			v, err := srv.Evaluate(ctx, e.Session, e.Event)
			answer(core.Evaluated{Session: e.Session, Life: e.Life, Result: e.Result, Action: v.Action, Reason: v.Reason, Data: v.Data, Err: err})
		}
	case core.JudgeUse:
		run = func() {
			v, err := srv.Judge(ctx, e.Session, "PHASE_TOOL_CALL", toolUse(e.Use))
			answer(core.UseJudged{Session: e.Session, Turn: e.Turn, Question: e.Question, Action: v.Action, Reason: v.Reason, Err: err})
		}
	case core.JudgePhase:
		run = func() {
			v, err := srv.Judge(ctx, e.Session, e.Phase, e.Data)
			answer(core.PhaseJudged{Session: e.Session, Turn: e.Turn, ID: e.ID, Phase: e.Phase, Verdict: v, Err: err})
		}
	case core.PatchLabels:
		run = func() {
			err := srv.PatchLabels(ctx, e.Session, e.Labels)
			answer(core.LabelsPatched{Session: e.Session, Labels: e.Labels, Err: err})
		}
	case core.ReadChildren:
		run = func() {
			list, err := srv.Children(ctx, e.Session)
			answer(core.ChildrenRead{Session: e.Session, Children: list, Err: err})
		}
	case core.ReadText:
		run = func() {
			text, ok, err := srv.LatestText(ctx, e.Session, e.After)
			answer(core.TextRead{Session: e.Session, Text: text, Found: ok, Err: err})
		}
	case core.FindChild:
		run = func() {
			child, ok, err := srv.FindChild(ctx, e.Session, e.Agent, e.Name)
			answer(core.ChildFound{Session: e.Session, Key: e.Key, Child: child, Found: ok, Err: err})
		}
	case core.ListSiblings:
		run = func() {
			list, err := srv.Children(ctx, e.Session)
			answer(core.SiblingsListed{Session: e.Session, Key: e.Key, Children: list, Err: err})
		}
	case core.CreateChild:
		run = func() {
			made, err := srv.CreateChild(ctx, e.Child)
			answer(core.ChildCreated{Session: e.Session, Key: e.Key, Child: made.ID, Err: err})
		}
	case core.StampChild:
		run = func() {
			err := srv.PatchLabels(ctx, e.Child, e.Labels)
			answer(core.ChildStamped{Session: e.Session, Key: e.Key, Err: err})
		}
	case core.PostTask:
		run = func() {
			err := srv.Task(ctx, e.Child, e.Text)
			crashAt("sent")
			answer(core.TaskPosted{Session: e.Session, Key: e.Key, Err: err})
		}
	case core.DeleteChild:
		run = func() {
			if err := srv.DeleteSession(ctx, e.Session); err != nil {
				d.log.Warn("a sub-agent that could not be given its task stays behind", "session", e.Session, "error", err)
			}
		}
	case core.LookUp:
		run = func() {
			out, err := srv.LookUp(ctx, e.Session, e.Name, e.Args)
			answer(core.LookedUp{Req: e.Req, Output: out, Err: err})
		}
	case core.UseTerminal:
		run = func() {
			answer(core.TerminalUsed{Session: e.Session, Key: e.Key, Output: d.r.useTerminal(ctx, e)})
		}
	case core.SpawnSession:
		run = func() {
			made, err := d.spawn(ctx, e)
			answer(core.SessionSpawned{Session: e.Session, Key: e.Key, Child: made.ID, AgentName: made.AgentName, Err: err})
		}
	case core.PostControl:
		run = func() {
			err := srv.Control(ctx, e.Child, e.Type)
			answer(core.ControlPosted{Session: e.Session, Child: e.Child, Type: e.Type, Soft: e.Soft, Req: e.Req, Err: err})
		}
	case core.CallTool:
		run = func() {
			out, err := srv.CallTool(ctx, e.Session, e.Call)
			answer(core.ToolAnswered{Session: e.Session, Turn: e.Turn, CallID: e.CallID, Output: out, Err: err})
		}
	case core.SendToTurn:
		d.mail.post(ctx, d, e)
		return true
	default:
		return false
	}
	d.running.Go(run)
	return true
}

// toolUse is what the policies know a use of a tool by.
func toolUse(use wire.ToolUse) json.RawMessage {
	if len(use.Args) == 0 {
		use.Args = json.RawMessage("{}")
	}
	raw, err := json.Marshal(use)
	if err != nil { // of a program; what cannot be told cannot be judged
		return json.RawMessage("null")
	}
	return raw
}

// spawn makes a session and gives it its first message. One that did not get it
// is not left behind.
func (d *driver) spawn(ctx context.Context, e core.SpawnSession) (wire.Made, error) {
	made, err := d.r.cfg.Server.CreateChild(ctx, e.Child)
	if err != nil || e.Message == "" {
		return made, err
	}
	if err := d.r.cfg.Server.Task(ctx, made.ID, e.Message); err != nil {
		err = errors.New("its first message: " + err.Error()) // what it means is no word on the agent
		return wire.Made{}, errors.Join(err, d.r.cfg.Server.DeleteSession(ctx, made.ID))
	}
	return made, nil
}

func (d *driver) postWake(ctx context.Context, e core.PostWake) error {
	pause := wakePause
	for n := 1; ; n++ {
		err := d.r.cfg.Server.Message(ctx, e.Session, e.Text)
		if err == nil || n == wakeTries || errors.Is(err, wire.ErrRejected) || errors.Is(err, wire.ErrNotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// historyPages bounds the conversation that a program is given, in pages of
// 100 items.
const historyPages = 100

// history reads the conversation that the inputs of a turn go on with, for a
// program that keeps none (sessions.md 7). A message that came while the turn
// before was at work lies before what that turn stored afterwards; all of that
// belongs to it, but for the messages that are not answered yet. What cannot be
// read fails the turn: a program that has half of a conversation answers another
// question.
func (d *driver) history(ctx context.Context, start wire.TurnStart) (wire.TurnStart, error) {
	inputs := map[string]bool{}
	for _, in := range start.Inputs {
		inputs[in.ItemID] = true
	}
	after, behind := "", false // behind an input
	for range historyPages {
		var page wire.Page
		err := d.try(ctx, func(ctx context.Context) (err error) {
			page, err = d.r.cfg.Server.Items(ctx, start.Session, after, 100)
			return err
		})
		if err != nil {
			return start, fmt.Errorf("reading the conversation: %w", err)
		}
		for _, it := range page.Items {
			behind = behind || inputs[it.ID]
			if behind && it.Type == "message" && (it.Role == "user" || it.Role == "") && !it.IsMeta {
				continue
			}
			if compacted := wire.CompactedHistory(it); compacted != nil {
				start.History = compacted
			} else if item := wire.HistoryItem(it); item != nil {
				start.History = append(start.History, item)
			}
		}
		if !page.HasMore || page.LastID == after {
			break
		}
		after = page.LastID
	}
	return start, nil
}
