package client

import (
	"slices"
	"strconv"
	"strings"
)

// transcript decides which text is to be printed, and when. A message is shown
// by its deltas while they come without a gap, and made whole by its stored
// item; what follows it waits for that item, since only then is it known that
// no piece of it was lost. So the order holds whatever happens on the way, and
// nothing is printed twice.
type transcript struct {
	out      func(string)
	messages map[string]*message
	seen     map[string]bool // item ids
	open     []*message      // those not whole yet, in order; the first is being shown
	pieces   map[string]int  // per turn, how many of its first pieces are stored
}

// message is one segment of the answer; id "" is text without a message id.
type message struct {
	id     string
	turn   string // the id is <turn>:<piece>
	piece  int    // -1: the id is of another form
	text   string // of the deltas, as far as they follow each other
	next   int64  // the index of the next one
	broken bool   // a piece is missing
	shown  int    // bytes of text that are printed
	stored *string
}

func newTranscript(out func(string)) *transcript {
	return &transcript{out: out, messages: map[string]*message{}, seen: map[string]bool{}, pieces: map[string]int{}}
}

func (t *transcript) message(id string) *message {
	m := t.messages[id]
	if m == nil {
		m = &message{id: id}
		m.turn, m.piece = pieceOf(id)
		t.messages[id] = m
		later := func(o *message) bool { return m.piece >= 0 && o.turn == m.turn && o.piece > m.piece }
		at := slices.IndexFunc(t.open, later)
		if at < 0 {
			at = len(t.open)
		}
		t.open = slices.Insert(t.open, at, m)
	}
	return m
}

// delta takes a preview. first says that it is the first one on its stream:
// then it may hold all that the message has so far, under the index of the last
// piece. That is only believed of a message whose begin was seen: a server that
// was restarted goes on with the next piece, and looks the same.
func (t *transcript) delta(id string, index *int64, text string, first bool) {
	m := t.message(id)
	switch {
	case m.stored != nil:
	case index == nil:
		m.text += text
	case first && m.next > 0 && *index >= m.next-1 && strings.HasPrefix(text, m.text):
		m.text, m.next, m.broken = text, *index+1, false
	case *index == m.next && !m.broken:
		m.text += text
		m.next++
	case *index > m.next:
		m.broken = true
	}
	t.show()
}

// item takes a stored item of the answer.
func (t *transcript) item(i *Item) {
	if i.Type != "message" || i.Role == "user" || t.seen[i.ID] {
		return
	}
	t.seen[i.ID] = true
	m := t.message(i.StreamMessageID)
	if m.stored == nil {
		text := i.Text()
		m.stored = &text
	}
	t.show()
}

// show prints what may be printed by now.
func (t *transcript) show() {
	for len(t.open) > 0 {
		m := t.open[0]
		if m.stored == nil && m.piece > t.pieces[m.turn] {
			return // what comes before it is not here yet
		}
		t.print(m)
		if m.stored == nil {
			return
		}
		if m.piece >= 0 {
			t.pieces[m.turn] = m.piece + 1
		}
		t.open = t.open[1:]
		m.text = ""
		if m.id == "" {
			delete(t.messages, "") // the next text without an id is another one
		}
	}
}

// pieceOf splits the id of a runner's message: the pieces of a turn are numbered
// from 0, and stored in order.
func pieceOf(id string) (turn string, piece int) {
	at := strings.LastIndexByte(id, ':')
	if at < 0 {
		return "", -1
	}
	n, err := strconv.Atoi(id[at+1:])
	if err != nil || n < 0 {
		return "", -1
	}
	return id[:at], n
}

// print shows the rest of one message.
func (t *transcript) print(m *message) {
	text := m.text
	if m.stored != nil {
		text = *m.stored
		if !strings.HasPrefix(text, m.text[:m.shown]) {
			// What was shown is not how it was stored. Twice is better than lost.
			text, m.shown = "\n"+text, 0
		}
	}
	if m.shown < len(text) {
		t.out(text[m.shown:])
		m.shown = len(text)
	}
}

// whole reports whether nothing is known to be missing.
func (t *transcript) whole() bool { return len(t.open) == 0 }

// end prints what is left of messages that were never stored.
func (t *transcript) end() {
	for _, m := range t.open {
		t.print(m)
	}
	t.open = nil
}
