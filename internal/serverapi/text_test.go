package serverapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func said(id, role, text string) wire.Item {
	content, err := json.Marshal([]map[string]string{{"type": "output_text", "text": text}})
	if err != nil {
		panic(err)
	}
	return wire.Item{ID: id, Type: "message", Role: role, ResponseID: "r", Content: content}
}

// piece is one of a text that a runner like this one stored in pieces.
func piece(id, turn, text string) wire.Item {
	item := said(id, "assistant", text)
	item.StreamMessageID = turn + ":" + id
	return item
}

// paged serves a listing, oldest first, newest first in pages of a size.
func paged(size int, items ...wire.Item) http.HandlerFunc {
	items = append([]wire.Item{}, items...)
	slices.Reverse(items)
	return func(w http.ResponseWriter, r *http.Request) {
		from := 0
		if after := r.URL.Query().Get("after"); after != "" {
			from = 1 + slices.IndexFunc(items, func(it wire.Item) bool { return it.ID == after })
		}
		to := min(from+size, len(items))
		text, err := json.Marshal(map[string]any{"data": items[from:to], "has_more": to < len(items)})
		if err != nil {
			panic(err)
		}
		answer(200, asJSON, string(text))(w, r)
	}
}

func TestLatestText(t *testing.T) {
	ask, tool := said("u", "user", "do"), wire.Item{ID: "t", Type: "function_call", ResponseID: "r"}
	ask2 := said("u2", "user", "more")
	meta := said("m", "user", "[System: timer fired]")
	meta.IsMeta = true
	other := piece("9", "T2", "other turn")
	for _, c := range []struct {
		name  string
		items []wire.Item
		after string
		want  string // "-" is none
	}{
		{"nothing", nil, "", "-"},
		{"only a question", []wire.Item{ask}, "", "-"},
		{"an answer", []wire.Item{ask, said("a", "assistant", "done")}, "", "done"},
		{"the newest answer", []wire.Item{ask, said("a", "assistant", "one"), tool, said("b", "assistant", "two")}, "", "two"},
		{"a tool was last", []wire.Item{ask, said("a", "assistant", "one"), tool}, "", "one"},
		{"an empty answer", []wire.Item{ask, said("a", "assistant", "")}, "", ""},
		{"not answered yet", []wire.Item{ask, said("a", "assistant", "old"), ask2}, "", "-"},
		{"a note in a user's name", []wire.Item{ask, said("a", "assistant", "done"), meta}, "", "done"},
		{"interrupted", []wire.Item{ask, said("a", "assistant", "half"), said("i", "user", "[System: interrupted]\nforget it")}, "", "half"},
		{"no question at all", []wire.Item{said("a", "assistant", "hello")}, "", "hello"},

		{"after the item", []wire.Item{ask, said("a", "assistant", "old"), ask2, said("b", "assistant", "new")}, "a", "new"},
		{"nothing after the item", []wire.Item{ask, said("a", "assistant", "old"), tool}, "a", "-"},
		{"before the item only", []wire.Item{ask, said("a", "assistant", "old"), ask2, tool}, "u2", "-"},
		{"after the item, before a question", []wire.Item{ask, said("a", "assistant", "x"), ask2}, "u", "x"},
		{"an item that is not there", []wire.Item{ask, said("a", "assistant", "old"), ask2, said("b", "assistant", "new")}, "gone", "new"},
		{"an item that is not there, not answered", []wire.Item{ask, said("a", "assistant", "old"), ask2}, "gone", "-"},

		{"in pieces", []wire.Item{ask, piece("1", "T", "a\n"), piece("2", "T", "b\n"), piece("3", "T", "c")}, "", "a\nb\nc"},
		{"pieces after an item", []wire.Item{ask, piece("1", "T", "a"), piece("2", "T", "b"), piece("3", "T", "c")}, "1", "bc"},
		{"pieces before a tool are another text", []wire.Item{ask, piece("1", "T", "a"), tool, piece("3", "T", "c")}, "", "c"},
		{"pieces of another turn", []wire.Item{ask, other, piece("1", "T", "a")}, "", "a"},
		{"whole messages are not pieces", []wire.Item{ask, said("a", "assistant", "one"), said("b", "assistant", "two")}, "", "two"},
	} {
		for _, size := range []int{1, 2, 100} {
			client := serve(t, paged(size, c.items...))
			text, ok, err := client.LatestText(t.Context(), "s", c.after)
			require.NoError(t, err, c.name)
			require.Equal(t, c.want != "-", ok, "%s, pages of %d", c.name, size)
			if ok {
				require.Equal(t, c.want, text, "%s, pages of %d", c.name, size)
			}
		}
	}
}

func TestLatestTextJoinsBlocks(t *testing.T) {
	c := serve(t, answer(200, asJSON, `{"data":[{"id":"a","type":"message","role":"assistant",
		"content":[{"type":"output_text","text":"one"},{"type":"output_image","image_url":"x"},{"type":"output_text","text":"two"}]}]}`))
	text, ok, err := c.LatestText(t.Context(), "s", "")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "one\ntwo", text)
}

func TestLatestTextReadsNoMoreThanItNeeds(t *testing.T) {
	var rec recorder
	items := []wire.Item{said("u", "user", "x"), said("a", "assistant", "y"), {ID: "t&1", Type: "function_call"}}
	c := rec.serve(t, paged(1, items...))
	_, _, err := c.LatestText(t.Context(), "s", "")
	require.NoError(t, err)
	require.Equal(t, []string{
		"GET /base/v1/sessions/s/items?limit=100&order=desc",
		"GET /base/v1/sessions/s/items?limit=100&order=desc&after=t%261",
		"GET /base/v1/sessions/s/items?limit=100&order=desc&after=a",
	}, rec.lines())

	rec = recorder{}
	_, _, err = rec.serve(t, answer(200, asJSON, `{"data":[{"id":"t","type":"function_call"}],"has_more":true}`)).LatestText(t.Context(), "s", "")
	require.NoError(t, err)
	require.Len(t, rec.requests(), 2, "a server that does not get on")
}

func TestLatestTextKeepsTheBeginningOfALongOne(t *testing.T) {
	items := []wire.Item{said("u", "user", "x")}
	for n := range 50 {
		items = append(items, piece(strconv.Itoa(n), "T", strconv.Itoa(n)+strings.Repeat(".", 10_000)))
	}
	c := serve(t, paged(100, items...))
	text, ok, err := c.LatestText(t.Context(), "s", "")
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, strings.HasPrefix(text, "0..."))
	require.Contains(t, text, ".6.")
	require.NotContains(t, text, ".7.")
}

func TestLatestTextOfAListingThatBreaksOff(t *testing.T) {
	first := paged(1, said("u", "user", "x"), said("a", "assistant", "y"))
	for _, second := range []http.HandlerFunc{hangUp, answer(400, asJSON, `{"error":{"code":"stale_cursor"}}`), answer(200, asJSON, `{}`)} {
		c := new(recorder).serve(t, first, second)
		_, ok, err := c.LatestText(t.Context(), "s", "")
		require.Error(t, err, "the piece may not be all of it")
		require.False(t, ok)
	}
	var n atomic.Int64
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer(200, asJSON, `{"data":[{"id":"t`+strconv.FormatInt(n.Add(1), 10)+`","type":"function_call"}],"has_more":true}`)(w, r)
	})
	_, _, err := c.LatestText(t.Context(), "s", "")
	require.ErrorContains(t, err, "more than 1000 pages")
	require.EqualValues(t, textPages, n.Load())
}
