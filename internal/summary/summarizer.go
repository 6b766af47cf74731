package summary

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// Summarizer asks the service that a model names. The zero value is ready.
type Summarizer struct {
	// HTTP makes the calls. Default: a client with the environment's proxies.
	// Redirects are not followed: they would carry a key along.
	HTTP *http.Client
	// Getenv reads the environment. Default: os.Getenv.
	Getenv func(string) string
	// Timeout bounds one summary. Default 110 s: the server waits 120 s.
	Timeout time.Duration
}

// service is where a model is asked, and how.
type service struct {
	speak    dialect
	base     string // its address, without a slash at the end
	key      string // "" = none
	model    string // by the service's own name
	provider string // for messages
}

// dialect is a wire of a service: it makes the request for a conversation, and
// reads the answer's text and how many tokens the service counted in it.
type dialect interface {
	request(ctx context.Context, s service, conversation string) (*http.Request, error)
	answer(raw []byte) (text string, tokens int, err error)
}

// provider is a service that needs no address in a request. Its variables are
// those of its own client libraries.
type provider struct {
	speak           dialect
	base            string
	keyEnv, baseEnv string
}

var providers = map[string]provider{
	"openai":    {speak: chat{}, base: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY", baseEnv: "OPENAI_BASE_URL"},
	"anthropic": {speak: messages{}, base: "https://api.anthropic.com", keyEnv: "ANTHROPIC_API_KEY", baseEnv: "ANTHROPIC_BASE_URL"},
}

// Summarize implements runner.Summarizer.
func (s *Summarizer) Summarize(ctx context.Context, ask wire.SummaryRequest) (wire.Summary, error) {
	to, err := s.find(ask)
	if err != nil {
		return wire.Summary{}, err
	}
	text, err := transcript(ask.Messages)
	if err != nil {
		return wire.Summary{}, err
	}
	timeout := s.Timeout
	if timeout == 0 {
		timeout = 110 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.put(ctx, to, text)
}

// find tells where a model is asked: "provider/model", or a model of OpenAI or,
// if it is called claude, of Anthropic.
func (s *Summarizer) find(ask wire.SummaryRequest) (service, error) {
	name, model, named := strings.Cut(ask.Model, "/")
	if !named {
		name, model = "openai", ask.Model
		if strings.HasPrefix(model, "claude") {
			name = "anthropic"
		}
	}
	p, known := providers[name]
	to := service{speak: p.speak, model: model, provider: name, key: ask.Connection.APIKey}
	switch {
	case ask.Connection.BaseURL != "":
		to.base = ask.Connection.BaseURL
		if !known {
			to.speak = chat{} // what everybody speaks
		}
	case !known:
		return to, refuse("this runner cannot ask the provider %q: use a model of openai/ or anthropic/, or give the address of a service "+
			"that speaks OpenAI's chat completions as connection.base_url of the agent's llm", name)
	default:
		to.base = first(s.getenv(p.baseEnv), p.base)
		to.key = first(to.key, s.getenv(p.keyEnv))
		if to.key == "" && to.base == p.base {
			return to, refuse("there is no key for %s: set %s where the runner is started, or connection.api_key of the agent's llm", name, p.keyEnv)
		}
	}
	to.base = strings.TrimRight(to.base, "/")
	return to, nil
}

func (s *Summarizer) getenv(name string) string {
	if s.Getenv != nil {
		return s.Getenv(name)
	}
	return os.Getenv(name)
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
