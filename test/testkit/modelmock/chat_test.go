package modelmock

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const tools = `"tools":[{"type":"function","function":{"name":"bash"}}]`

func post(t *testing.T, ctx context.Context, s *Server, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func read(t *testing.T, s *Server, body string) string {
	t.Helper()
	text, err := io.ReadAll(post(t, t.Context(), s, body).Body)
	require.NoError(t, err)
	return string(text)
}

func user(text string) string {
	return fmt.Sprintf(`{%s,"messages":[{"role":"user","content":"before"},{"role":"user","content":[{"type":"text","text":%q}]}]}`, tools, text)
}

func TestAnswers(t *testing.T) {
	s := New(t)
	require.Contains(t, read(t, s, user("hi")), `"content":"Hello "`)
	said := read(t, s, user("please SAY one two"))
	require.Contains(t, said, `"content":"one "`)
	require.Contains(t, said, `"finish_reason":"stop"`)
	require.Contains(t, said, `"total_tokens":15`)
	require.True(t, strings.HasSuffix(said, "data: [DONE]\n\n"))
	require.Contains(t, read(t, s, user("SHELL echo x")), `\"command\":\"echo x\"`)
	require.Contains(t, read(t, s, user("RECALL")), `"content":"before "`)
	require.Contains(t, read(t, s, user("FAIL")), "the model is broken")
	require.Contains(t, read(t, s, `{`+tools+`,"messages":[{"role":"user","content":"SHELL x"},{"role":"tool","content":"out"}]}`), `"content":"out"`)
	require.Contains(t, read(t, s, `{"messages":[{"role":"user","content":"SHELL x"}]}`), `"content":"title"`)
	require.Equal(t, []string{"hi", "please SAY one two", "SHELL echo x", "RECALL", "FAIL", "SHELL x"}, s.Asked())
}

func TestASlowAnswerCanBeCut(t *testing.T) {
	s := New(t)
	ctx, cancel := context.WithCancel(t.Context())
	answer := post(t, ctx, s, user("SLOW"))
	_, err := answer.Body.Read(make([]byte, 1))
	require.NoError(t, err)
	require.Zero(t, s.Cuts())
	cancel()
	require.Eventually(t, func() bool { return s.Cuts() == 1 }, 30*time.Second, time.Millisecond)
}
