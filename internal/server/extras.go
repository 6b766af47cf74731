package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/outrunner/outrunner/internal/server/store"
)

// headerExtras asks for what this server tells beyond the Omnigent API: a
// session's harness by its whole name, its harness_override and its pending
// messages with their items from the first moment, and which messages a response
// answers or an error is about. The same word is a query
// parameter, for clients that cannot set a header. Whoever does not ask gets
// the API as it is.
const (
	headerExtras = "X-Outrunner-Extras"
	queryExtras  = "outrunner_extras"
)

func wantsExtras(r *http.Request) bool {
	return r.Header.Get(headerExtras) != "" || r.URL.Query().Get(queryExtras) != ""
}

// waitsLong is when a message that no runner has accepted counts as waiting for
// clients without the extras, in seconds. Theirs never waits that long: it is
// refused. One that is delivered at once shows no trace of its wait.
const waitsLong = 2

func waits(i *store.Item, now int64) bool { return now-i.CreatedAt >= waitsLong }

// visiblePending is what a client without the extras sees of the messages that
// wait.
func visiblePending(pending []store.Pending) []store.Pending {
	now, out := time.Now().Unix(), pending[:0:0]
	for _, p := range pending {
		if waits(p.Item, now) {
			out = append(out, p)
		}
	}
	return out
}

// withoutExtras takes our fields out of an event.
func withoutExtras(f frame) frame {
	inputs := strings.HasPrefix(f.typ, "response.") && bytes.Contains(f.data, []byte(`"`+keyInputs+`"`))
	item := f.typ == typeStatus && bytes.Contains(f.data, []byte(`"`+keyItem+`"`))
	if !inputs && !item {
		return f
	}
	var event map[string]json.RawMessage
	if json.Unmarshal(f.data, &event) != nil {
		return f
	}
	delete(event, keyInputs)
	if item {
		event["error"] = errorShape.object(event["error"])
	}
	f.data = encoded(event, f.data)
	return f
}
