package client

import "strings"

// transcript decides which text is still to be printed. A message is shown by
// its deltas while they come without a gap, and by its stored item from there
// on; whichever is first, the other adds only what is missing.
type transcript struct {
	out      func(string)
	messages map[string]*message
	seen     map[string]bool // item ids
	// gap is the message of which a piece was missed and whose item has not
	// come yet: what follows it waits for its own item, so that the order
	// holds.
	gap *message
}

// message is one segment of the answer; "" is the text without a message id.
type message struct {
	printed strings.Builder
	next    int64 // the index that the next delta should have
	stored  bool
}

func newTranscript(out func(string)) *transcript {
	return &transcript{out: out, messages: map[string]*message{}, seen: map[string]bool{}}
}

func (t *transcript) message(id string) *message {
	m := t.messages[id]
	if m == nil {
		m = &message{}
		t.messages[id] = m
	}
	return m
}

// delta takes a preview. first says that it is the first one on its stream:
// then it may hold all that the message has so far, under the index of the last
// piece.
func (t *transcript) delta(id string, index *int64, text string, first bool) {
	m := t.message(id)
	switch {
	case m.stored:
	case t.gap != nil: // its item will bring it
		if m != t.gap && index != nil {
			m.next = -1 // never to be followed by a delta
		}
	case id == "" || index == nil:
		t.show(m, text)
	case first && m.next >= 0 && *index >= m.next-1 && strings.HasPrefix(text, m.printed.String()):
		t.show(m, text[m.printed.Len():])
		m.next = *index + 1
	case *index == m.next:
		t.show(m, text)
		m.next++
	case *index < m.next: // seen
	default:
		t.gap = m
	}
}

// item takes a stored item of the answer.
func (t *transcript) item(i *Item) {
	if i.Type != "message" || i.Role == "user" || t.seen[i.ID] {
		return
	}
	t.seen[i.ID] = true
	m := t.message(i.StreamMessageID)
	if m.stored {
		return
	}
	text, printed := i.Text(), m.printed.String()
	if rest, ok := strings.CutPrefix(text, printed); ok {
		t.out(rest)
	} else {
		// What was shown is not how it was stored. Twice is better than lost.
		t.out("\n" + text)
	}
	if t.gap == m {
		t.gap = nil
	}
	m.printed.Reset()
	m.stored = i.StreamMessageID != "" // text without an id begins anew
}

func (t *transcript) show(m *message, text string) {
	m.printed.WriteString(text)
	t.out(text)
}
