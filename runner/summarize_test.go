package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// summarizer answers by the model's name.
type summarizer func(wire.SummaryRequest) (wire.Summary, error)

func (s summarizer) Summarize(_ context.Context, ask wire.SummaryRequest) (wire.Summary, error) {
	return s(ask)
}

func TestSummarize(t *testing.T) {
	w := newWorld(t)
	w.summarizer = summarizer(func(ask wire.SummaryRequest) (wire.Summary, error) {
		switch ask.Model {
		case "no":
			return wire.Summary{}, fmt.Errorf("%w: set a key", wire.ErrRejected)
		case "down":
			return wire.Summary{}, errors.New("it is down")
		}
		return wire.Summary{Text: fmt.Sprint(len(ask.Messages), ask.Model, ask.Connection), Tokens: 7}, nil
	})
	w.start()
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"messages":[{},{}],"model":"openai/m","connection":{"api_key":"k","base_url":"u"},"session_id":"S"}`, 200, `{"text":"2openai/m{k u}","token_count":7}`},
		{`{"messages":[],"model":"m","connection":null}`, 200, `{"text":"0m{ }","token_count":7}`},
		{`{"messages":[],"model":"no"}`, 400, `{"error":{"code":"invalid_input","message":"rejected by the server: set a key"}}`},
		{`{"messages":[],"model":"down"}`, 502, `{"error":{"code":"summary_failed","message":"it is down"}}`},
		{`{"messages":[]}`, 400, `{"error":{"code":"invalid_input","message":"a summary needs the name of a model"}}`},
		{`{"messages":[],"model":""}`, 400, `{"error":{"code":"invalid_input","message":"a summary needs the name of a model"}}`},
		{`{"model":"m"}`, 400, `{"error":{"code":"invalid_input","message":"the messages to sum up must be a list"}}`},
		{`{"messages":"all","model":"m"}`, 400, `{"error":{"code":"invalid_input","message":"the messages to sum up must be a list"}}`},
		{`{"messages":[],"model":"m","connection":"c"}`, 400, `{"error":{"code":"invalid_input","message":"the connection must be an object with api_key and base_url"}}`},
		{`{`, 400, `{"error":{"code":"invalid_input","message":"The request body is not valid JSON."}}`},
	} {
		status, body := w.do(http.MethodPost, "/v1/summarize", c.body)
		require.Equal(t, c.status, status, c.body)
		require.JSONEq(t, c.want, body, c.body)
	}
	status, _ := w.do(http.MethodGet, "/v1/summarize", "")
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

func TestNoSummarizer(t *testing.T) {
	w := newWorld(t).start()
	status, _ := w.do(http.MethodPost, "/v1/summarize", "{}")
	require.Equal(t, http.StatusNotFound, status)
}
