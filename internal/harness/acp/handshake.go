package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// handshakeTimeout bounds each question of the handshake but session/load. Large
// agents take half a minute to start for the first time on a busy machine.
const handshakeTimeout = time.Minute

// codeAuthRequired is how an agent says that somebody must sign in first.
const codeAuthRequired = -32000

// CodeSignIn is the code of a turn whose agent wants somebody to sign in.
const CodeSignIn = "authentication_required"

// capabilities are what an agent takes in a prompt.
type capabilities struct {
	Image           bool `json:"image"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// authMethod is a way to sign in.
type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
}

// greeting is an agent's answer to initialize, as far as it matters here. It is
// read leniently: an agent that says more, or less, may still work.
type greeting struct {
	ProtocolVersion   json.RawMessage `json:"protocolVersion"`
	AgentCapabilities struct {
		LoadSession        bool         `json:"loadSession"`
		PromptCapabilities capabilities `json:"promptCapabilities"`
	} `json:"agentCapabilities"`
	AuthMethods []authMethod `json:"authMethods"`
	Meta        struct {
		Default string `json:"defaultAuthMethodId"`
	} `json:"_meta"`
}

// failure is an end of the turn that an error leads to.
type failure struct{ end wire.TurnEnd }

// Error implements error.
func (f *failure) Error() string { return f.end.Error.Message }

func fail(code, message, remediation string) error {
	return &failure{turn.Failed(code, message, remediation)}
}

// initialize introduces us to a new process.
func (r *Run) initialize(ctx context.Context, s *peer) error {
	raw, err := request(ctx, s, handshakeTimeout, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: "outrunner", Version: "1"},
		ClientCapabilities: acp.ClientCapabilities{
			Fs: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true},
		},
	}, nil, nil)
	if err != nil {
		return r.refused(s, acp.AgentMethodInitialize, err)
	}
	var hello greeting
	if err := json.Unmarshal(raw, &hello); err != nil {
		return fail(turn.CodeProtocol, fmt.Sprintf("%s answered initialize with something else: %v", r.cfg.Command[0], err),
			"See whether the command starts an agent of the Agent Client Protocol.")
	}
	if v := strings.TrimSpace(string(hello.ProtocolVersion)); v != "" && v != "null" && v != fmt.Sprint(acp.ProtocolVersionNumber) {
		return fail(turn.CodeProtocol, fmt.Sprintf("%s speaks version %s of the Agent Client Protocol, and outrunner speaks %d",
			r.cfg.Command[0], excerpt(v), acp.ProtocolVersionNumber), "Install a version of it that speaks the same.")
	}
	s.greeting, s.initialized = hello, true
	return nil
}

// signingIn asks, and once more after authenticate when the agent wants somebody
// to sign in first.
func (r *Run) signingIn(ctx context.Context, s *peer, ask func() (json.RawMessage, error)) (json.RawMessage, error) {
	raw, err := ask()
	if !wantsSignIn(err) {
		return raw, err
	}
	id := unattended(s.greeting)
	if id == "" || s.signedIn {
		return nil, r.signIn(s, err)
	}
	s.signedIn = true
	r.Log.Info("an agent wants a sign-in", "method", id)
	_, err = request(ctx, s, handshakeTimeout, acp.AgentMethodAuthenticate, acp.AuthenticateRequest{MethodId: id}, nil, nil)
	var reply *acp.RequestError
	switch {
	case errors.As(err, &reply):
		return nil, r.signIn(s, err)
	case err != nil:
		return nil, r.refused(s, acp.AgentMethodAuthenticate, err)
	}
	if raw, err = ask(); wantsSignIn(err) {
		return nil, r.signIn(s, err)
	}
	return raw, err
}

func wantsSignIn(err error) bool {
	var reply *acp.RequestError
	return errors.As(err, &reply) && (reply.Code == codeAuthRequired || strings.Contains(strings.ToLower(reply.Message), "authentication required"))
}

// unattended is a way to sign in that needs no human, "" when there is none.
func unattended(hello greeting) string {
	first := ""
	for _, m := range hello.AuthMethods {
		switch {
		case m.ID == "" || m.interactive():
		case m.ID == hello.Meta.Default:
			return m.ID
		case first == "":
			first = m.ID
		}
	}
	return first
}

// interactive tells the ways that open a browser, or want a terminal. The
// protocol has no word for the first, so the well-known ones are known by name.
func (m authMethod) interactive() bool {
	if m.Type == "terminal" {
		return true
	}
	switch m.ID {
	case "grok.com", "chatgpt", "oauth-personal":
		return true
	}
	text := strings.ToLower(m.ID + " " + m.Name + " " + m.Description)
	return strings.Contains(text, "browser") || strings.Contains(text, "oauth")
}

// signIn says how to sign in.
func (r *Run) signIn(s *peer, cause error) error {
	how := fmt.Sprintf("Start %s in a terminal on the runner's machine and sign in there", r.cfg.Command[0])
	for _, m := range s.greeting.AuthMethods {
		if text := m.Description; text != "" {
			how += fmt.Sprintf(" (%s: %s)", excerpt(m.Name), excerpt(text))
			break
		}
	}
	how += fmt.Sprintf(", or name the variable that has its key under harnesses: %q: pass_env: in the config file.", r.cfg.Harness)
	return fail(CodeSignIn, fmt.Sprintf("%s wants somebody to sign in: %s", r.cfg.Command[0], replyText(cause)), how)
}

// refused is what it means that the agent did not do what the handshake needs.
func (r *Run) refused(s *peer, method string, err error) error {
	var reply *acp.RequestError
	switch {
	case errors.Is(err, errLate):
		advice := "See whether the command starts an agent of the Agent Client Protocol, and whether that needs a key to start: pass_env names variables that it gets."
		if words := s.p.LastWords(); words != "" {
			advice = "Its last line on standard error was: " + words
		}
		return fail(wire.CodeTimeout, fmt.Sprintf("%s %v", r.cfg.Command[0], err), advice)
	case wantsSignIn(err):
		return r.signIn(s, err)
	case errors.As(err, &reply):
		return fail(replyCode(reply), fmt.Sprintf("%s refused %s: %s", r.cfg.Command[0], method, replyText(err)), "")
	}
	return err
}
