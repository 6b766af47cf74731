package serverapi

import (
	"context"
	"fmt"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// textPages is how many pages of 100 items are read for a text at most, and
// textSize how much of a text in pieces is kept, in bytes; it is the beginning.
const (
	textPages = 1000
	textSize  = 64 << 10
)

// LatestText returns the text of the newest assistant message that lies after
// the item; after the last user message when the item is "" or not there. ok is
// false when there is none (subagents-catchup.md 16).
func (c *Client) LatestText(ctx context.Context, session, after string) (string, bool, error) {
	found := newest{after: after}
	cursor := ""
	for range textPages {
		page, err := c.itemPage(ctx, session, "desc", cursor, 100)
		if err != nil {
			return "", false, err
		}
		for _, item := range page.Items {
			if found.enough(item) {
				return found.text()
			}
		}
		if !page.HasMore || len(page.Items) == 0 || page.LastID == cursor {
			return found.withoutItem()
		}
		cursor = page.LastID
	}
	return "", false, fmt.Errorf("reading the text of session %s: there are more than %d pages", session, textPages)
}

// newest gathers the newest message from items that come newest first.
type newest struct {
	after  string
	pieces []wire.Item // of the message, the last one first
	size   int         // of their contents
	whole  bool        // the message began
	behind bool        // a user message came after it
}

// enough takes the next older item, and reports that the text is settled.
func (n *newest) enough(item wire.Item) bool {
	if n.after != "" && item.ID == n.after {
		return true
	}
	fromUser := item.Type == "message" && item.Role == "user" && !item.IsMeta && !marker(item)
	switch {
	case n.whole:
	case item.Type == "message" && item.Role == "assistant" && n.continues(item):
		n.add(item)
	case len(n.pieces) > 0:
		n.whole = true
	case fromUser && n.after == "":
		return true
	case fromUser:
		n.behind = true // the text counts only if the item is older
	}
	return n.whole && !n.behind
}

// add puts an earlier piece to the others, in the place of the last ones if they
// are too much.
func (n *newest) add(item wire.Item) {
	n.pieces = append(n.pieces, item)
	n.size += len(item.Content)
	for len(n.pieces) > 1 && n.size-len(n.pieces[0].Content) >= textSize {
		n.size -= len(n.pieces[0].Content)
		n.pieces = n.pieces[1:]
	}
}

// continues reports that an item belongs to the message of the pieces: a runner
// like this one stores a long text in pieces, under ids of one turn.
func (n *newest) continues(item wire.Item) bool {
	if len(n.pieces) == 0 {
		return true
	}
	turn, _, ok := strings.Cut(item.StreamMessageID, ":")
	newer, _, _ := strings.Cut(n.pieces[0].StreamMessageID, ":")
	return ok && turn == newer && item.ResponseID == n.pieces[0].ResponseID
}

func (n *newest) text() (string, bool, error) {
	var all strings.Builder
	for i := len(n.pieces) - 1; i >= 0; i-- {
		all.WriteString(wire.Text(n.pieces[i].Content))
	}
	return all.String(), len(n.pieces) > 0, nil
}

// withoutItem is the text when all items were seen and the item was not there.
func (n *newest) withoutItem() (string, bool, error) {
	if n.behind {
		return "", false, nil
	}
	return n.text()
}

// marker tells what runners store after an interrupted turn, in a user's name
// (sessions.md 5.11).
func marker(item wire.Item) bool {
	line, _, _ := strings.Cut(wire.Text(item.Content), "\n")
	return line == "[System: interrupted]"
}
