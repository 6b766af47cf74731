package testkit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// Event is one stored event of a session.
type Event struct {
	ID   string `json:"-"`
	Type string `json:"type"`

	Response struct {
		ID    string                                       `json:"id"`
		Error *struct{ Code, Message, Remediation string } `json:"error"`
	} `json:"response"`
	Inputs []string `json:"input_item_ids"`
}

// maxEvent bounds a line of a stream, in bytes.
const maxEvent = 16 << 20

// Events reads all stored events of a session, oldest first: a stream from the
// first event to the one that was the newest when it was opened.
func (a *API) Events(session string) ([]Event, error) {
	res, err := a.client.Get(a.URL + "/v1/sessions/" + session + "/stream?last_event_id=0&outrunner_extras=1")
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // left in the middle
	newest := res.Header.Get("X-Outrunner-Event-Id")
	if res.StatusCode != http.StatusOK || newest == "" || res.Header.Get("X-Outrunner-Resync") != "" {
		return nil, fmt.Errorf("the stream cannot begin at the first event: %s %v", res.Status, res.Header)
	}
	if newest == "0" {
		return nil, nil
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxEvent)
	var all []Event
	id := ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "id":
			id = value
		case field == "data" && id != "":
			e := Event{ID: id}
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				return nil, fmt.Errorf("reading event %s: %w", id, err)
			}
			all = append(all, e)
			if id == newest {
				return all, nil
			}
			id = ""
		}
	}
	return nil, fmt.Errorf("the stream ended before event %s: %w", newest, lines.Err())
}

// Outcome is how the turn of a message ended.
type Outcome struct {
	Response string
	Status   string // completed, failed, cancelled
	Code     string // of a failed one
	Message  string // of a failed one
	// Remediation is what a failed one says to do next.
	Remediation string
}

// Outcomes finds the outcomes of each message of a session: one is right.
func (a *API) Outcomes(session string) (map[string][]Outcome, error) {
	events, err := a.Events(session)
	if err != nil {
		return nil, err
	}
	out := map[string][]Outcome{}
	for _, e := range events {
		status, ok := strings.CutPrefix(e.Type, "response.")
		if !ok || !slices.Contains([]string{"completed", "failed", "cancelled", "incomplete"}, status) {
			continue
		}
		o := Outcome{Response: e.Response.ID, Status: status}
		if e.Response.Error != nil {
			o.Code, o.Message, o.Remediation = e.Response.Error.Code, e.Response.Error.Message, e.Response.Error.Remediation
		}
		for _, item := range e.Inputs {
			out[item] = append(out[item], o)
		}
	}
	return out, nil
}

// Settled waits until every one of the messages has an outcome and the session
// is at rest, with no message that nobody has taken. It returns the outcomes in the order of the messages, and fails
// the test when one has two.
func (a *API) Settled(limit time.Duration, session string, items ...string) []Outcome {
	a.t.Helper()
	var found map[string][]Outcome
	var at Session
	Until(a.t, limit, func() bool {
		var err error
		if found, err = a.Outcomes(session); err != nil {
			return false
		}
		for _, item := range items {
			if len(found[item]) == 0 {
				return false
			}
		}
		at, err = a.Session(session)
		return err == nil && (at.Status == "idle" || at.Status == "failed") && len(at.Pending) == 0
	}, func() string {
		return fmt.Sprintf("outcomes of all of %v, and rest: the outcomes are %v, the session is %+v", items, found, at)
	})
	var out []Outcome
	for _, item := range items {
		require.Len(a.t, found[item], 1, "outcomes of the message %s", item)
		out = append(out, found[item][0])
	}
	return out
}
