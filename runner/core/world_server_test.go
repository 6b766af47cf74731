package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// server is what the fake server has.
type server struct {
	sessions map[string]*stored
	order    []string // of their making
	queue    []forward
	children int
	items    int
	owner    map[string]string // item -> session
	trees    map[string]*wire.Spec
}

// stored is a session of the server: the truth about it.
type stored struct {
	id, agent, sub, parent, wrapper, override, title string

	items    []wire.Item
	labels   map[string]string
	stamps   map[string]bool // dispatches that it was ever labelled with
	begun    map[string]bool // those whose message arrived
	status   string
	code     string
	archived bool
	foreign  bool // bound to another runner
	gone     bool // deleted
	busy     bool // a native program is at work
}

// forward is something that the server wants to tell the runner.
type forward struct {
	session, item string
	control       string
}

func newServer() *server {
	return &server{sessions: map[string]*stored{}, owner: map[string]string{}, trees: map[string]*wire.Spec{}}
}

func (sv *server) add(s *stored) *stored {
	s.labels, s.stamps, s.begun = map[string]string{}, map[string]bool{}, map[string]bool{}
	s.status = "idle"
	if s.wrapper != "" {
		s.labels[labelWrapper] = s.wrapper
	}
	sv.sessions[s.id] = s
	sv.order = append(sv.order, s.id)
	return s
}

// label sets labels of a session.
func (s *stored) label(labels map[string]string) {
	for k, v := range labels {
		s.labels[k] = v
		if k == labelDispatch {
			s.stamps[v] = true
		}
	}
}

func (sv *server) remove(id string) {
	if s := sv.sessions[id]; s != nil {
		s.gone = true
	}
}

// renew lets a session's name be used for a new one.
func (sv *server) renew(id string) {
	s := sv.sessions[id]
	s.items = nil
	clear(s.begun)
	maps.DeleteFunc(s.labels, func(k, _ string) bool { return k != labelWrapper })
}

// runnerGone: the server sees that the runner's connection broke.
func (sv *server) runnerGone() {
	for _, id := range sv.order {
		if s := sv.sessions[id]; (s.status == "running" || s.status == "waiting") && !s.foreign {
			s.status, s.code = "failed", "runner_disconnected"
		}
	}
}

// published takes the status of a session from its stream.
func (sv *server) published(e Publish) {
	var ev statusEvent
	if !bytes.Contains(e.Event, []byte(`"session.status"`)) {
		return
	}
	if json.Unmarshal(e.Event, &ev) != nil || ev.Type != "session.status" {
		return
	}
	if s := sv.sessions[e.Session]; s != nil {
		s.status, s.code = ev.Status, ""
		if ev.Error != nil {
			s.code = ev.Error.Code
		}
	}
}

func (sv *server) snapshot(id string) wire.Snapshot {
	s := sv.sessions[id]
	if s == nil || s.gone {
		return wire.Snapshot{}
	}
	snap := wire.Snapshot{
		ID: id, AgentID: s.agent, AgentName: "name-" + s.agent, SubAgentName: s.sub, ParentID: s.parent, RunnerID: "me",
		Status: s.status, LastErrorCode: s.code, Archived: s.archived, HarnessOverride: s.override, Labels: map[string]string{},
	}
	if s.title != "" {
		snap.Title = s.sub + ":" + s.title
	}
	if s.foreign {
		snap.RunnerID = "other"
	}
	for k, v := range s.labels {
		snap.Labels[k] = v
	}
	return snap
}

// store keeps a user's message.
func (sv *server) store(session, text string) string {
	sv.items++
	id := fmt.Sprint(session, "u", sv.items)
	s := sv.sessions[session]
	s.items = append(s.items, wire.Item{ID: id, Type: "message", Role: "user", Content: encode(text)})
	sv.owner[id] = session
	return id
}

// keep stores an item of a runner under its source id, once.
func (sv *server) keep(session string, out wire.Outgoing) {
	s := sv.sessions[session]
	if s == nil || slices.ContainsFunc(s.items, func(it wire.Item) bool { return it.ID == out.SourceID }) {
		return
	}
	var data struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		CallID  string          `json:"call_id"`
	}
	_ = json.Unmarshal(out.ItemData, &data)
	it := wire.Item{
		ID: out.SourceID, Type: out.ItemType, ResponseID: out.ResponseID, StreamMessageID: out.MessageID,
		Content: data.Content, CallID: data.CallID, Role: data.Role,
	}
	s.items = append(s.items, it)
}

// answer stores what another runner said.
func (sv *server) answer(session, text string) {
	sv.items++
	s := sv.sessions[session]
	s.items = append(s.items, wire.Item{
		ID: fmt.Sprint(session, "a", sv.items), Type: "message", Role: "assistant", ResponseID: "resp_other", Content: encode(text),
	})
}

func (s *stored) position(item string) int {
	return slices.IndexFunc(s.items, func(it wire.Item) bool { return it.ID == item })
}

// taskStatus is current_task_status.
func (s *stored) taskStatus() string {
	switch {
	case s.status == "failed":
		return "failed"
	case s.status == "running" || s.busy:
		return "in_progress"
	case slices.ContainsFunc(s.items, isUser):
		return "completed"
	}
	return "launching"
}

func isUser(it wire.Item) bool { return it.Type == "message" && it.Role == "user" }

func (s *stored) summary() wire.ChildSummary {
	c := wire.ChildSummary{
		ID: s.id, Title: s.sub + ":" + s.title, Tool: s.sub, SessionName: s.title, AgentName: "name-" + s.agent,
		Status: s.taskStatus(), Busy: s.busy || s.status == "running", Labels: map[string]string{}, ErrorCode: s.code,
	}
	if s.code != "" {
		c.ErrorMessage = "it " + s.code
	}
	for k, v := range s.labels {
		c.Labels[k] = v
	}
	return c
}

func (sv *server) kids(parent string) (list []wire.ChildSummary) {
	for _, id := range sv.order {
		if s := sv.sessions[id]; s.parent == parent && !s.gone {
			list = append(list, s.summary())
		}
	}
	return list
}

// find answers FindChild: by id where no agent is named.
func (sv *server) find(q FindChild) (wire.ChildSummary, bool) {
	for _, id := range sv.order {
		s := sv.sessions[id]
		if s.parent != q.Session || s.gone {
			continue
		}
		if q.Agent == "" && s.id == q.Name || q.Agent != "" && s.sub == q.Agent && s.title == q.Name {
			return s.summary(), true
		}
	}
	return wire.ChildSummary{}, false
}

func (sv *server) create(child wire.NewChild) (string, error) {
	_, title, _ := strings.Cut(child.Title, ":")
	for _, id := range sv.order {
		if s := sv.sessions[id]; s.parent == child.ParentID && s.sub == child.SubAgentName && s.title == title && !s.gone && child.SubAgentName != "" {
			return "", wire.ErrConflict
		}
	}
	sv.children++
	s := sv.add(&stored{
		id: fmt.Sprint("k", sv.children), agent: child.AgentID, sub: child.SubAgentName, parent: child.ParentID,
		title: title, override: child.HarnessOverride,
	})
	s.label(child.Labels)
	return s.id, nil
}

// text answers ReadText: the newest text after an item, or after the last
// message where none is named.
func (sv *server) text(session, after string) (string, bool) {
	s := sv.sessions[session]
	from := s.position(after)
	if after == "" {
		for n, it := range s.items {
			if isUser(it) {
				from = n
			}
		}
	}
	for n := len(s.items) - 1; n > from; n-- {
		if it := s.items[n]; it.Type == "message" && it.Role == "assistant" {
			return wire.Text(it.Content), true
		}
	}
	return "", false
}
