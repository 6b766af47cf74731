package modelmock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// slowBeat is the time between two words of a slow answer, slowLimit how
	// many it has when nobody cuts it.
	slowBeat  = 50 * time.Millisecond
	slowLimit = 2400
)

// readInbox is the tool that a message may ask for.
const readInbox = "sys_read_inbox"

// chat answers one request.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, `{"error":{"message":"not JSON"}}`, http.StatusBadRequest)
		return
	}
	a := &answer{w: w}
	user := q.last("user")
	if len(q.Tools) == 0 {
		a.say("A title")
		a.end("stop")
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, user)
	s.mu.Unlock()
	if n := len(q.Messages); n > 0 && q.Messages[n-1].Role == "tool" {
		a.say("The tool said: " + q.last("tool"))
		a.end("stop")
		return
	}
	word, rest := keyword(user)
	switch word {
	case "SAY":
		a.say(rest)
	case "SHELL":
		a.shell(rest)
		return
	case "RECALL":
		a.say("You said: " + strings.Join(q.said("user"), " | "))
	case "FAIL":
		w.Header().Set("Content-Type", "application/json")
		http.Error(w, `{"error":{"message":"the model is broken","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	case "TOOLS":
		var names []string
		for _, t := range q.Tools {
			names = append(names, t.Function.Name)
		}
		a.say(strings.Join(names, " "))
	case "CALL":
		name, args, _ := strings.Cut(rest, " ")
		a.use(q, name, args)
		return
	case "SLOW", "LINES":
		after := map[string]string{"SLOW": " ", "LINES": "\n"}[word]
		if !a.count(r, after) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.cuts++
			return
		}
	default:
		if strings.Contains(user, readInbox) {
			a.use(q, readInbox, "{}")
			return
		}
		a.say(Greeting)
	}
	a.end("stop")
}

// keyword finds the word that steers the answer, and what follows it in its line.
func keyword(user string) (word, rest string) {
	for line := range strings.SplitSeq(user, "\n") {
		for _, word := range []string{"SAY", "SHELL", "RECALL", "FAIL", "SLOW", "LINES", "TOOLS", "CALL"} {
			if at := strings.Index(line, word); at >= 0 {
				return word, strings.TrimSpace(line[at+len(word):])
			}
		}
	}
	return "", ""
}

// answer is a stream of chunks.
type answer struct{ w http.ResponseWriter }

func (a *answer) chunk(delta, finish any, usage any) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	raw, err := json.Marshal(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": Model, "usage": usage,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	})
	if err != nil {
		return // it has only strings and numbers
	}
	_, _ = fmt.Fprintf(a.w, "data: %s\n\n", raw)
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

// say streams a text in words.
func (a *answer) say(text string) {
	for _, word := range strings.SplitAfter(text, " ") {
		a.chunk(map[string]string{"role": "assistant", "content": word}, nil, nil)
	}
}

func (a *answer) end(reason string) {
	a.chunk(map[string]string{}, reason, map[string]int{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
	_, _ = fmt.Fprint(a.w, "data: [DONE]\n\n")
}

// shell calls the tool bash.
func (a *answer) shell(command string) {
	args, err := json.Marshal(map[string]string{"command": command, "description": "Runs what was asked for"})
	if err != nil {
		return // it has only strings
	}
	a.call("bash", string(args))
}

// use calls the tool whose name ends so: agents put a word of their own before
// the names of tools that they were lent.
func (a *answer) use(q request, name, args string) {
	for _, t := range q.Tools {
		if strings.HasSuffix(t.Function.Name, name) {
			a.call(t.Function.Name, args)
			return
		}
	}
	a.say("There is no tool " + name)
	a.end("stop")
}

func (a *answer) call(name, args string) {
	a.chunk(map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
		"index": 0, "id": fmt.Sprintf("call_%d", time.Now().UnixNano()), "type": "function",
		"function": map[string]string{"name": name, "arguments": args},
	}}}, nil, nil)
	a.end("tool_calls")
}

// count streams numbers. false means that the reader has left.
func (a *answer) count(r *http.Request, after string) bool {
	beat := time.NewTicker(slowBeat)
	defer beat.Stop()
	for i := range slowLimit {
		a.say(fmt.Sprintf("%d%s", i, after))
		select {
		case <-r.Context().Done():
			return false
		case <-beat.C:
		}
	}
	return true
}
