package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// callTimeout bounds one call of the API.
const callTimeout = 15 * time.Second

// API asks a server over plain HTTP. Methods that return an error may be called
// while the server is away; the others fail the test.
type API struct {
	URL string

	t      testing.TB
	client *http.Client
}

// NewAPI asks the server at the URL.
func NewAPI(t testing.TB, url string) *API {
	// A connection per call: the servers of these tests die and come back.
	return &API{URL: url, t: t, client: &http.Client{Timeout: callTimeout, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// Session is what a snapshot says.
type Session struct {
	ID       string  `json:"id"`
	Status   string  `json:"status"`
	RunnerID string  `json:"runner_id"`
	Response *string `json:"active_response_id"`
	Pending  []struct {
		ItemID string `json:"item_id"`
	} `json:"pending_inputs"`
	LastError *struct{ Code, Message string } `json:"last_task_error"`
}

// Item is one stored item.
type Item struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Role       string `json:"role"`
	ResponseID string `json:"response_id"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	CallID     string `json:"call_id"` // of a call, and of its output
	Output     string `json:"output"`
	Content    []struct {
		Text string `json:"text"`
	} `json:"content"`
}

// Text is the item's text.
func (i Item) Text() string {
	text := ""
	for _, c := range i.Content {
		text += c.Text
	}
	return text
}

// RunnerRow is a row of GET /v1/runners.
type RunnerRow struct {
	ID        string   `json:"runner_id"`
	Online    bool     `json:"online"`
	Harnesses []string `json:"harnesses"`
}

// Do makes a call and returns its status and body. A body that is not nil goes
// as JSON.
func (a *API) Do(method, path string, body any) (int, []byte, error) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		reader = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, a.URL+path, reader)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("X-Outrunner-Extras", "1") // as our own programs ask
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := a.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }() // read to its end, or failed already
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, text, err
}

// call is Do for an answer of 2xx.
func (a *API) call(method, path string, body, out any) error {
	status, text, err := a.Do(method, path, body)
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		return fmt.Errorf("%s %s: %d %s", method, path, status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// Runners are the runners that the server knows.
func (a *API) Runners() ([]RunnerRow, error) {
	var page struct{ Data []RunnerRow }
	err := a.call(http.MethodGet, "/v1/runners", nil, &page)
	return page.Data, err
}

// Online tells whether a runner is connected.
func (a *API) Online() bool {
	rows, err := a.Runners()
	if err != nil {
		return false
	}
	for _, r := range rows {
		if r.Online {
			return true
		}
	}
	return false
}

// NewSession makes a session with the agent of that name.
func (a *API) NewSession(agent string) string {
	a.t.Helper()
	var agents struct{ Data []struct{ ID, Name string } }
	require.NoError(a.t, a.call(http.MethodGet, "/v1/agents?limit=100", nil, &agents))
	for _, g := range agents.Data {
		if g.Name == agent {
			var s Session
			require.NoError(a.t, a.call(http.MethodPost, "/v1/sessions", map[string]string{"agent_id": g.ID}, &s))
			return s.ID
		}
	}
	require.FailNow(a.t, "no such agent", agent)
	return ""
}

// Post sends a user's message and returns its item. Repeating a stable id, 32
// hex digits, adds nothing; "" is none.
func (a *API) Post(session, text, stableID string) (string, error) {
	data := map[string]any{"role": "user", "content": []map[string]string{{"type": "input_text", "text": text}}}
	if stableID != "" {
		data["stable_id"] = stableID
	}
	var ack struct {
		ItemID string `json:"item_id"`
	}
	err := a.call(http.MethodPost, "/v1/sessions/"+session+"/events", map[string]any{"type": "message", "data": data}, &ack)
	if err == nil && ack.ItemID == "" {
		err = fmt.Errorf("a message was taken without an item")
	}
	return ack.ItemID, err
}

// Send is Post that must succeed.
func (a *API) Send(session, text string) string {
	a.t.Helper()
	item, err := a.Post(session, text, "")
	require.NoError(a.t, err)
	return item
}

// Session reads a session's snapshot.
func (a *API) Session(id string) (Session, error) {
	var s Session
	err := a.call(http.MethodGet, "/v1/sessions/"+id+"?include_items=false", nil, &s)
	return s, err
}

// Sessions are all sessions, at most a hundred.
func (a *API) Sessions() ([]Session, error) {
	var page struct{ Data []Session }
	err := a.call(http.MethodGet, "/v1/sessions?limit=100", nil, &page)
	return page.Data, err
}

// Items reads all items of a session, oldest first.
func (a *API) Items(session string) ([]Item, error) {
	var all []Item
	for after := ""; ; {
		var page struct {
			Data    []Item `json:"data"`
			HasMore bool   `json:"has_more"`
		}
		path := "/v1/sessions/" + session + "/items?order=asc&limit=100"
		if after != "" {
			path += "&after=" + url.QueryEscape(after)
		}
		if err := a.call(http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if !page.HasMore || len(page.Data) == 0 {
			return all, nil
		}
		after = page.Data[len(page.Data)-1].ID
	}
}

// Answer is the text that a session's response has stored, in the order of its
// items.
func (a *API) Answer(session, response string) string {
	a.t.Helper()
	items, err := a.Items(session)
	require.NoError(a.t, err)
	text := ""
	for _, i := range items {
		if i.Type == "message" && i.Role == "assistant" && i.ResponseID == response {
			text += i.Text()
		}
	}
	return text
}

// Interrupt asks the session's turn to stop.
func (a *API) Interrupt(session string) error {
	return a.call(http.MethodPost, "/v1/sessions/"+session+"/events", map[string]any{"type": "interrupt", "data": map[string]any{}}, nil)
}
