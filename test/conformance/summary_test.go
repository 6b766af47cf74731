//go:build unix

package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// A server that makes room in a conversation borrows the model of this machine.
func TestSummary(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer of-this-machine" || !json.Valid(raw) {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"They met."}}],"usage":{"completion_tokens":3}}`) // an error fails the test below
	}))
	t.Cleanup(service.Close)
	u := newUpstream(t)
	r := testkit.NewRunner(t, u.URL)
	r.Start("OPENAI_BASE_URL="+service.URL+"/v1", "OPENAI_API_KEY=of-this-machine")
	l := u.next()
	l.kind("hello")

	status, text := l.get("POST", "/v1/summarize", dict{"messages": []dict{{"role": "user", "content": "hello"}}, "model": "openai/gpt-x", "session_id": session})
	require.EqualValues(t, 200, status, text)
	require.JSONEq(t, `{"text":"They met.","token_count":3}`, text)

	status, text = l.get("POST", "/v1/summarize", dict{"messages": []dict{}, "model": "bedrock/x"})
	require.EqualValues(t, 400, status, text)
	require.Contains(t, text, `"invalid_input"`)
	require.Contains(t, text, "connection.base_url")
}
