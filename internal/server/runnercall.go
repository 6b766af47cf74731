package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/outrunner/outrunner/internal/server/store"
	"github.com/outrunner/outrunner/tunnel"
)

// maxResourceAnswer bounds a runner's answer about a resource, in bytes: a file
// is read up to 10 MiB, and what is larger is downloaded.
const maxResourceAnswer = 24 << 20

// codeAway says that the session's runner is not connected; clients try again.
const codeAway = "runner_unavailable"

// resourceCall asks a session's runner about one of the session's resources
// (terminals.md 0).
type resourceCall struct {
	method string
	path   string // below the session, decoded: it is not unescaped again
	query  url.Values
	body   []byte // JSON, nil for none
}

// here finds the connection of a session's runner. A session that never had a
// runner is a 409, one whose runner is away a 503.
func (s *Server) here(ses *store.Session) (*presence, error) {
	if ses.RunnerID == "" {
		return nil, refuse(http.StatusConflict, "conflict", "The session has no runner yet: it gets one with its first message, or with PATCH {\"runner_id\": ...}.")
	}
	pr := s.presences.get(ses.RunnerID)
	if pr == nil {
		return nil, runnerAway()
	}
	return pr, nil
}

func runnerAway() *apiError {
	return refuse(http.StatusServiceUnavailable, codeAway, "The session's runner is not connected; try again when it is back.")
}

// callRunner carries out a call and answers the JSON object that the runner
// gave, or the refusal that clients get.
func (s *Server) callRunner(ctx context.Context, ses *store.Session, c resourceCall) (json.RawMessage, error) {
	pr, err := s.here(ses)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timing.Resource)
	defer cancel()
	res, err := pr.open(ctx, ses.ID, c)
	if err != nil {
		return nil, s.unanswered(c, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxResourceAnswer+1))
	if err != nil {
		return nil, s.unanswered(c, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, c.refused(res.StatusCode, raw)
	}
	if len(raw) > maxResourceAnswer {
		return nil, detail(http.StatusBadGateway, "The runner's answer is larger than %d MB; download it instead.", maxResourceAnswer>>20)
	}
	if _, err := object(raw, "answer"); err != nil {
		return nil, detail(http.StatusBadGateway, "The runner returned a malformed response.")
	}
	return raw, nil
}

// open sends the call. The path goes as it is: dots and double slashes are for
// the runner to judge, which knows the folders.
func (pr *presence) open(ctx context.Context, session string, c resourceCall) (*http.Response, error) {
	target := &url.URL{Scheme: "http", Host: "runner", Path: "/v1/sessions/" + session + c.path, RawQuery: c.query.Encode()}
	req := (&http.Request{Method: c.method, URL: target, Host: target.Host, Header: http.Header{}}).WithContext(ctx)
	if c.body != nil {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := pr.client.Transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("asking the runner: %w", err)
	}
	return res, nil
}

// unanswered is what a client gets when the runner gave no answer. What only
// reads may be tried again at once; of anything else nobody knows whether it
// was done, unless it never left.
func (s *Server) unanswered(c resourceCall, err error) error {
	var lost *tunnel.LostError
	var refused *tunnel.RefusedError
	reads := c.method == http.MethodGet
	switch {
	case errors.Is(err, context.DeadlineExceeded) && reads:
		return refuse(http.StatusServiceUnavailable, codeAway, "The runner did not answer within %s.", s.cfg.Timing.Resource)
	case errors.Is(err, context.DeadlineExceeded):
		return detail(http.StatusGatewayTimeout, "The runner did not answer within %s; it may still do it.", s.cfg.Timing.Resource)
	case errors.As(err, new(*tunnel.OfflineError)), errors.As(err, &lost) && (reads || lost.Unsent):
		return runnerAway()
	case errors.As(err, &refused):
		return detail(refused.Status, "The runner could not be asked: %s.", refused.Reason)
	case lost != nil:
		return detail(http.StatusBadGateway, "The runner went away during the call; whether it was done is not known.")
	}
	return detail(http.StatusBadGateway, "The runner could not be asked: %v.", err)
}

// refused turns a runner's refusal into the server's (terminals.md 4.3).
func (c resourceCall) refused(status int, raw []byte) *apiError {
	why := messageOf(raw)
	switch {
	case status == http.StatusNotFound:
		return refuse(status, "not_found", "%s", why)
	case c.method == http.MethodGet, status < http.StatusBadRequest:
		return detail(http.StatusBadGateway, "%s", why)
	}
	return detail(status, "%s", why)
}

// messageOf is the sentence of a runner's refusal, without its code.
func messageOf(raw []byte) string {
	var body struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	_ = json.Unmarshal(raw, &body) // whatever fits
	var e struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body.Error, &e) // an object, or nothing
	var rows []struct {
		Msg string `json:"msg"`
	}
	_ = json.Unmarshal(body.Detail, &rows)
	if len(rows) > 0 {
		e.Message = firstOf(e.Message, rows[0].Msg)
	}
	if why := firstOf(e.Message, text(body.Detail), text(body.Error)); why != "" {
		return clip(why, 2000)
	}
	return reasonOf(raw)
}
