package summary

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// asked is what a service was sent.
type asked struct {
	path   string
	header http.Header
	body   map[string]any
}

// place is a service on loopback that answers everything alike.
type place struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []asked
	status int
	answer string
}

func serve(t *testing.T, status int, answer string) *place {
	p := &place{status: status, answer: answer}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		got := asked{path: r.URL.Path, header: r.Header}
		if err == nil {
			err = json.Unmarshal(raw, &got.body)
		}
		if err != nil {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		p.mu.Lock()
		p.asked = append(p.asked, got)
		p.mu.Unlock()
		if p.status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(p.status)
		_, _ = io.WriteString(w, p.answer) // an error means that the asker is gone
	}))
	t.Cleanup(p.Close)
	return p
}

const (
	chatAnswer     = `{"choices":[{"message":{"role":"assistant","content":"the notes"}}],"usage":{"completion_tokens":3}}`
	messagesAnswer = `{"content":[{"type":"thinking","text":"hm"},{"type":"text","text":"the "},{"type":"text","text":"notes"}],"usage":{"output_tokens":4}}`
)

// summarizer knows the environment alone that a test gives, and talks to its
// service by a client whose connections end with the test.
func summarizer(t *testing.T, env map[string]string) *Summarizer {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &Summarizer{HTTP: &http.Client{Transport: transport}, Getenv: func(name string) string { return env[name] }, Timeout: 5 * time.Second}
}

func ask(model string) wire.SummaryRequest {
	return wire.SummaryRequest{Model: model, Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"find the bug"}`)}}
}

func TestServices(t *testing.T) {
	for _, c := range []struct {
		name, model  string
		conn         func(url string) wire.ModelConnection
		env          func(url string) map[string]string
		path, header string
		tokens       int
	}{
		{
			name: "a connection of the agent's", model: "openai/gpt-x",
			conn: func(url string) wire.ModelConnection {
				return wire.ModelConnection{BaseURL: url + "/v1/", APIKey: "agent"}
			},
			path: "/v1/chat/completions", header: "Authorization: Bearer agent", tokens: 3,
		},
		{
			name: "a bare model, and this machine's key and address", model: "gpt-x",
			env: func(url string) map[string]string {
				return map[string]string{"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "mine"}
			},
			path: "/v1/chat/completions", header: "Authorization: Bearer mine", tokens: 3,
		},
		{
			name: "a provider that only the agent knows", model: "zhipu/glm/x",
			conn: func(url string) wire.ModelConnection { return wire.ModelConnection{BaseURL: url} },
			path: "/chat/completions", header: "Authorization: ", tokens: 3,
		},
		{
			name: "Anthropic", model: "anthropic/claude-x",
			env: func(url string) map[string]string {
				return map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "mine"}
			},
			path: "/v1/messages", header: "X-Api-Key: mine", tokens: 4,
		},
		{
			name: "Anthropic by the model's name, with the version in the address", model: "claude-x",
			conn: func(url string) wire.ModelConnection {
				return wire.ModelConnection{BaseURL: url + "/v1", APIKey: "agent"}
			},
			path: "/v1/messages", header: "X-Api-Key: agent", tokens: 4,
		},
		{
			name: "the agent's key at this machine's address", model: "openai/gpt-x",
			conn: func(string) wire.ModelConnection { return wire.ModelConnection{APIKey: "agent"} },
			env: func(url string) map[string]string {
				return map[string]string{"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "mine"}
			},
			path: "/chat/completions", header: "Authorization: Bearer agent", tokens: 3,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := chatAnswer
			if c.path == "/v1/messages" {
				answer = messagesAnswer
			}
			p := serve(t, 200, answer)
			q, env := ask(c.model), map[string]string(nil)
			if c.conn != nil {
				q.Connection = c.conn(p.URL)
			}
			if c.env != nil {
				env = c.env(p.URL)
			}
			sum, err := summarizer(t, env).Summarize(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, wire.Summary{Text: "the notes", Tokens: c.tokens}, sum)
			require.Len(t, p.asked, 1)
			require.Equal(t, c.path, p.asked[0].path)
			name, want, _ := strings.Cut(c.header, ": ")
			require.Equal(t, want, p.asked[0].header.Get(name))
			model := c.model[strings.Index(c.model, "/")+1:]
			require.Equal(t, model, p.asked[0].body["model"])
			last := p.asked[0].body["messages"].([]any)
			require.Contains(t, last[len(last)-1].(map[string]any)["content"], "find the bug")
		})
	}
}

// TestMachinesKeyStaysHome: a definition of an agent may come from anybody. The
// address in it gets no key of this machine's.
func TestMachinesKeyStaysHome(t *testing.T) {
	for _, model := range []string{"openai/gpt-x", "anthropic/claude-x", "other/x"} {
		p := serve(t, 200, chatAnswer)
		q := ask(model)
		q.Connection.BaseURL = p.URL
		env := map[string]string{"OPENAI_API_KEY": "mine", "ANTHROPIC_API_KEY": "mine", "OTHER_API_KEY": "mine"}
		_, err := summarizer(t, env).Summarize(t.Context(), q)
		if model == "anthropic/claude-x" {
			require.ErrorContains(t, err, "no summary") // it is answered in the other dialect
		} else {
			require.NoError(t, err)
		}
		require.Len(t, p.asked, 1)
		require.Empty(t, p.asked[0].header.Get("Authorization"))
		require.Empty(t, p.asked[0].header.Get("X-Api-Key"))
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	for _, c := range []struct{ model, want string }{
		{"gpt-x", "set OPENAI_API_KEY where the runner is started"},
		{"anthropic/claude-x", "set ANTHROPIC_API_KEY where the runner is started"},
		{"bedrock/x", `this runner cannot ask the provider "bedrock": use a model of openai/ or anthropic/`},
	} {
		_, err := summarizer(t, nil).Summarize(t.Context(), ask(c.model))
		require.ErrorIs(t, err, wire.ErrRejected)
		require.ErrorContains(t, err, c.want)
	}
	q := ask("gpt-x")
	q.Connection.BaseURL = "http://[::1"
	_, err := summarizer(t, nil).Summarize(t.Context(), q)
	require.ErrorIs(t, err, wire.ErrRejected)
	require.ErrorContains(t, err, "http://[::1")
}

func TestServicesThatFail(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		status       int
		want         string
	}{
		{"refused, with the key in the reason", `{"error":{"message":"bad key secret-key"}}`, 401, "openai answered 401: bad key [key]"},
		{"a page", "<html>", 502, "openai answered 502: <html>"},
		{"a redirect is not followed", "", 302, "openai answered 302: "},
		{"a long reason is cut", strings.Repeat("é", 400), 500, strings.Repeat("é", 250) + "…"},
		{"no JSON", "{", 200, "is no summary"},
		{"no choices", "{}", 200, "it has no choices"},
		{"no text", `{"choices":[{"message":{"content":" \n"}}]}`, 200, "it has no text"},
		{"a refusal", `{"choices":[{"message":{"refusal":"I will not"}}]}`, 200, "the model refused: I will not"},
		{"cut off", `{"choices":[{"message":{"content":"They"},"finish_reason":"length"}]}`, 200, "it is cut off"},
		{"without end", strings.Repeat("x", maxAnswer+1), 200, "over 4 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := serve(t, c.status, c.answer)
			q := ask("gpt-x")
			q.Connection = wire.ModelConnection{BaseURL: p.URL, APIKey: "secret-key"}
			_, err := summarizer(t, nil).Summarize(t.Context(), q)
			require.ErrorContains(t, err, c.want)
			require.NotErrorIs(t, err, wire.ErrRejected)
			require.Len(t, p.asked, 1)
		})
	}
	p := serve(t, 200, `{"content":[{"type":"text","text":"They"}],"stop_reason":"max_tokens"}`)
	q := ask("claude-x")
	q.Connection.BaseURL = p.URL
	_, err := summarizer(t, nil).Summarize(t.Context(), q)
	require.ErrorContains(t, err, "the answer of anthropic is no summary: it is cut off")

	p = serve(t, 200, "")
	p.Close()
	q = ask("gpt-x")
	q.Connection.BaseURL = p.URL
	_, err = summarizer(t, nil).Summarize(t.Context(), q)
	require.ErrorContains(t, err, "asking openai: ")
}

// TestTokensNobodyCounted: local services often count nothing.
func TestTokensNobodyCounted(t *testing.T) {
	p := serve(t, 200, `{"choices":[{"message":{"content":"nine char"}}]}`)
	q := ask("gpt-x")
	q.Connection.BaseURL = p.URL
	sum, err := summarizer(t, nil).Summarize(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, 3, sum.Tokens)
}

func TestTranscript(t *testing.T) {
	text, err := transcript([]json.RawMessage{
		json.RawMessage(`{"role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image"},{"type":"input_file","filename":"a.pdf"},{"type":"input_file"}]}`),
		json.RawMessage(`{"type":"reasoning","summary":[]}`),
		json.RawMessage(`{"type":"function_call","name":"ls","arguments":"{\"a\":1}","call_id":"c"}`),
		json.RawMessage(`{"type":"function_call_output","call_id":"c","output":"x y"}`),
		json.RawMessage(`{"type":"function_call_output","call_id":"d","output":[{"type":"output_text","text":"z"}]}`),
		json.RawMessage(`{"type":"message","role":"assistant","content":"done"}`),
		json.RawMessage(`{"role":"user","content":{"odd":1}}`),
		json.RawMessage(`{"content":null}`),
	})
	require.NoError(t, err)
	require.Equal(t, `The record:

[user]
look
(an image)
(a file a.pdf)
(a file)

[assistant uses the tool ls]
{"a":1}

[result]
x y

[result]
z

[assistant]
done

[user]
{"odd":1}

End of the record. Write the notes now.`, text)

	_, err = transcript(nil)
	require.ErrorIs(t, err, wire.ErrRejected)
	require.ErrorContains(t, err, "nothing to sum up")
	_, err = transcript([]json.RawMessage{json.RawMessage(`7`)})
	require.ErrorIs(t, err, wire.ErrRejected)
	require.ErrorContains(t, err, "message 0")
}
