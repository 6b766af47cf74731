package tunnel

import "strconv"

// refusalBytes is about what the messages of one refusal take.
const refusalBytes = 300

// refusal is an answer to a request or channel that this end does not take. A
// few bytes wait for the writer instead of a whole answer, so that a peer who
// asks too much cannot make us hold much.
type refusal struct {
	id      string
	channel bool
	status  int    // of a request's answer
	code    string // the word in its body, or the reason of the ws.close
}

// refuse queues a refusal. It reports false when too many wait already: the
// peer is flooding.
func (w *writer) refuse(r refusal) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refusals) >= w.limits.Refusals {
		return false
	}
	w.refusals = append(w.refusals, r)
	w.wakeUp()
	return true
}

// takeRefusal returns the messages of the oldest refusal.
func (w *writer) takeRefusal() []item {
	var r refusal
	r, w.refusals = pop(w.refusals)
	if r.channel {
		return []item{{msg: Append(nil, WSClose{ChID: r.id, Code: IntOf(closeTryLater), Reason: r.code})}}
	}
	frames := errorAnswer(r.id, r.status, r.code)
	items := make([]item, len(frames))
	for i, f := range frames {
		items[i].msg = Append(nil, f)
	}
	return items
}

// errorAnswer is a whole answer with the body {"error": code}, as upstream
// words its dispatch failure (tunnel.md 6).
func errorAnswer(id string, status int, code string) []Frame {
	return []Frame{
		ResponseHead{ID: id, Status: IntOf(int64(status)), Headers: []Header{{"content-type", "application/json"}}},
		ResponseBody{ID: id, Body: `{"error": ` + strconv.Quote(code) + `}`, Encoding: EncodingUTF8},
		ResponseEnd{ID: id},
	}
}
