package fakeserver

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Text is a message's content of one block.
func Text(text string) []Dict { return []Dict{{"type": "input_text", "text": text}} }

// Say adds a user's message to a session, and tells nobody. It returns its id.
func (s *Server) Say(session, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.say(s.sessions[session], Text(text))
}

func (s *Server) say(ses *Session, content any) string {
	id := s.newID()
	ses.Items = append(ses.Items, Dict{"id": id, "type": "message", "role": "user", "status": "completed", "response_id": "", "content": content})
	return id
}

// Answered adds an assistant's message to a session.
func (s *Server) Answered(session, response, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.sessions[session]
	ses.Items = append(ses.Items, Dict{"id": s.newID(), "type": "message", "role": "assistant", "status": "completed", "response_id": response,
		"content": []Dict{{"type": "output_text", "text": text}}})
}

// Items are a session's items.
func (s *Server) Items(session string) []Dict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Dict(nil), s.sessions[session].Items...)
}

// Said is all the text that the session's agent has stored, in order, by
// response.
func (s *Server) Said(session string) []string {
	var texts, responses []string
	for _, it := range s.Items(session) {
		if it["role"] != "assistant" {
			continue
		}
		response, _ := it["response_id"].(string)
		if n := len(responses); n == 0 || responses[n-1] != response {
			responses, texts = append(responses, response), append(texts, "")
		}
		texts[len(texts)-1] += contentText(it["content"])
	}
	return texts
}

func contentText(content any) string {
	raw, err := json.Marshal(content)
	if err != nil {
		return ""
	}
	var blocks []struct{ Text string }
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(block.Text)
	}
	return b.String()
}

// items is GET /v1/sessions/{id}/items (server.md 0, 2.4).
func (s *Server) items(w http.ResponseWriter, r *http.Request, ses *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	limit := 100
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 1000 {
			refuse(w, http.StatusUnprocessableEntity, "invalid_input", "a limit is 1 to 1000")
			return
		}
	}
	rows := slices.Clone(ses.Items)
	if q.Get("order") == "desc" {
		slices.Reverse(rows)
	}
	if after := q.Get("after"); after != "" {
		at := slices.IndexFunc(rows, func(it Dict) bool { return it["id"] == after })
		if at < 0 {
			refuse(w, http.StatusBadRequest, "stale_cursor", "the cursor is not there any more")
			return
		}
		rows = rows[at+1:]
	}
	body := wholePage(append([]Dict{}, rows[:min(limit, len(rows))]...))
	body["has_more"] = len(rows) > limit
	n := min(limit, len(rows))
	if n > 0 {
		body["first_id"], body["last_id"] = rows[0]["id"], rows[n-1]["id"]
	}
	list(w, body, n)
}

// store keeps an item of the runner's, once per source id (server.md 2.6).
func (s *Server) store(w http.ResponseWriter, ses *Session, raw json.RawMessage) {
	var data struct {
		Type     string `json:"item_type"`
		Item     Dict   `json:"item_data"`
		Response string `json:"response_id"`
		Source   string `json:"source_id"`
		Message  string `json:"message_id"`
	}
	if err := json.Unmarshal(raw, &data); err != nil || data.Type == "" || data.Source == "" {
		refuse(w, http.StatusUnprocessableEntity, "invalid_input", "an item has a type and a source")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(ses.Items, func(it Dict) bool { return it["source_id"] == data.Source })
	if at < 0 {
		item := Dict{"id": s.newID(), "type": data.Type, "status": "completed", "response_id": data.Response,
			"source_id": data.Source, "stream_message_id": orNull(data.Message)}
		maps.Copy(item, data.Item)
		at = len(ses.Items)
		ses.Items = append(ses.Items, item)
	}
	answer(w, http.StatusAccepted, Dict{"queued": false, "item_id": ses.Items[at]["id"]})
}
