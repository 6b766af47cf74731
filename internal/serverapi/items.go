package serverapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// Items reads one page after the cursor, oldest first; after "" starts at the
// beginning, limit is 1 to 100.
func (c *Client) Items(ctx context.Context, session, after string, limit int) (wire.Page, error) {
	return c.itemPage(ctx, session, "asc", after, limit)
}

// itemPage reads one page of items in an order, "asc" or "desc".
func (c *Client) itemPage(ctx context.Context, session, order, after string, limit int) (wire.Page, error) {
	query := "?limit=" + strconv.Itoa(limit) + "&order=" + order
	if after != "" {
		query += "&after=" + url.QueryEscape(after)
	}
	var answer struct {
		Data    []wire.Item `json:"data"`
		LastID  string      `json:"last_id"`
		HasMore bool        `json:"has_more"`
	}
	err := c.object(ctx, call{
		method: http.MethodGet, path: sessionPath(session, "/items"+query),
		timeout: orDefault(c.Timing.Items, 10*time.Second), limit: pageLimit,
	}, &answer)
	if err == nil {
		err = complete(answer.Data)
	}
	if err != nil {
		return wire.Page{}, fmt.Errorf("reading the items of session %s: %w", session, err)
	}
	page := wire.Page{Items: answer.Data, LastID: answer.LastID, HasMore: answer.HasMore}
	if n := len(page.Items); page.LastID == "" && n > 0 {
		page.LastID = page.Items[n-1].ID
	}
	return page, nil
}

// complete refuses a listing that is none: without it, a wrong answer would
// read as an empty session, and the session's messages as lost.
func complete(items []wire.Item) error {
	if items == nil {
		return errors.New("the answer has no list of items")
	}
	for _, item := range items {
		if item.ID == "" {
			return errors.New("the answer has an item without an id")
		}
	}
	return nil
}

// Store sends one item and returns the id under which the server keeps it. An
// answer without one is no word that it does. Sending it again is safe
// (server.md 2.6).
func (c *Client) Store(ctx context.Context, session string, out wire.Outgoing) (string, error) {
	var answer struct {
		ItemID string `json:"item_id"`
	}
	err := c.object(ctx, call{
		method: http.MethodPost, path: sessionPath(session, "/events"),
		body: struct {
			Type string        `json:"type"`
			Data wire.Outgoing `json:"data"`
		}{"external_conversation_item", out},
		timeout: orDefault(c.Timing.Store, 10*time.Second), limit: ackLimit,
	}, &answer)
	if err == nil && answer.ItemID == "" {
		err = lost{errors.New("the answer names no item")}
	}
	if err != nil {
		return "", fmt.Errorf("storing item %s of session %s: %w", out.SourceID, session, err)
	}
	return answer.ItemID, nil
}
