package runner

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/runner/core"
)

// streamTurn serves a message with ?stream=true: the answer is the turn's own
// events, to its terminal response, and no done marker (sessions.md 5.6). The
// turn does not depend on who listens.
func (r *Runner) streamTurn(w http.ResponseWriter, req *http.Request, m core.Message) {
	if m.ItemID == "" && m.StableID == "" {
		m.StableID = "local_" + newID()
	}
	item := m.ItemID
	if item == "" {
		item = m.StableID
	}
	tap := r.driver.outlets.of(m.Session).tap()
	defer r.driver.outlets.of(m.Session).untap(tap)
	rec := &held{ResponseWriter: w}
	r.forward(rec, req, func(q core.Req) core.Event { m.Req = q; return m })
	if rec.status != http.StatusAccepted {
		rec.release()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	out := &streamWriter{w: w, flush: http.NewResponseController(w).Flush}
	response := ""
	for {
		frames, end := tap.take()
		for _, f := range frames {
			ev := readTurnEvent(f.data)
			if ev.Type == "response.in_progress" && slices.Contains(ev.Inputs, item) {
				response = ev.Response.ID
			}
			if response == "" || strings.HasPrefix(ev.Type, "session.") {
				continue // not the turn's
			}
			if !out.write(namedFrame(ev.Type, f.data)) {
				return
			}
			if ev.terminal() && ev.Response.ID == response {
				return
			}
		}
		if end != endNone {
			return
		}
		select {
		case <-tap.wake:
		case <-req.Context().Done():
			return
		}
	}
}

// turnEvent is what streamTurn reads of an event.
type turnEvent struct {
	Type     string   `json:"type"`
	Inputs   []string `json:"input_item_ids"`
	Response struct {
		ID string `json:"id"`
	} `json:"response"`
}

func readTurnEvent(data []byte) turnEvent {
	var ev turnEvent
	if json.Unmarshal(data, &ev) != nil {
		return turnEvent{} // an item of a program may hold what is not ours to read
	}
	return ev
}

func (e turnEvent) terminal() bool {
	switch e.Type {
	case "response.completed", "response.failed", "response.cancelled", "response.incomplete":
		return true
	}
	return false
}

func namedFrame(typ string, data []byte) []byte {
	var buf bytes.Buffer
	buf.WriteString("event: " + typ + "\ndata: ")
	buf.Write(data)
	buf.WriteString("\n\n")
	return buf.Bytes()
}

// held keeps an answer back until it is known whether it is the answer.
type held struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (h *held) WriteHeader(status int) { h.status = status }

func (h *held) Write(b []byte) (int, error) { return h.body.Write(b) }

func (h *held) release() {
	h.ResponseWriter.WriteHeader(h.status)
	_, _ = h.ResponseWriter.Write(h.body.Bytes()) // an error means that the asker is gone
}
