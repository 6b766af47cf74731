package harness

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// talker is a harness that keeps its program.
const talker = "acp:talker"

// keeping sets up the talker.
func keeping(command ...string) func(*Config) {
	return func(cfg *Config) {
		cfg.Harnesses = map[string]Definition{talker: {Adapter: AdapterStdio, Command: command}}
	}
}

func told(turn, text string) wire.TurnStart {
	start := message(turn, text)
	start.Harness = talker
	return start
}

// collect runs a turn; each tool call of it is answered with result. It
// returns the text.
func collect(m *Manager, start wire.TurnStart, result string) (string, wire.TurnEnd) {
	var text strings.Builder
	end := m.Turn(context.Background(), start, func(e wire.HarnessEvent) error {
		text.WriteString(e.Delta)
		if e.Type != wire.ItemDone {
			return nil
		}
		var call struct {
			CallID string `json:"call_id"`
		}
		return errors.Join(json.Unmarshal(e.Item, &call),
			m.Send(context.Background(), start.Session, start.Turn, wire.ToHarness{Type: wire.ToolResult, CallID: call.CallID, Output: result}))
	})
	return text.String(), end
}

// example is the code block of a language in the documentation.
func example(t *testing.T, language string) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/harness-stdio.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```\n").FindAllSubmatch(doc, -1)
	require.Len(t, blocks, 1)
	code := string(blocks[0][1])
	require.LessOrEqual(t, strings.Count(code, "\n"), 30, "short enough to be read at once")
	path := filepath.Join(t.TempDir(), "example")
	require.NoError(t, os.WriteFile(path, []byte(code), 0o600))
	return path
}

func TestTheExampleInSh(t *testing.T) {
	m := manager(t, keeping("sh", example(t, "sh")))
	for range 2 {
		text, end := collect(m, told("t", "hello"), `["é \"quoted\" \\"]`)
		require.Equal(t, wire.TurnEnd{Outcome: wire.Completed}, end)
		require.Equal(t, `Your inbox: ["é \"quoted\" \\"]`, text)
	}
	ended := make(chan wire.TurnEnd, 1)
	called := make(chan struct{}, 1)
	go func() {
		ended <- m.Turn(context.Background(), told("u", "hello"), func(e wire.HarnessEvent) error {
			if e.Type == wire.ItemDone {
				called <- struct{}{}
			}
			return nil
		})
	}()
	<-called
	require.NoError(t, m.Interrupt(t.Context(), "session", "u"))
	require.Equal(t, wire.TurnEnd{Outcome: wire.Cancelled}, await(t, ended))
	text, end := collect(m, told("v", "hello"), "on")
	require.Equal(t, wire.TurnEnd{Outcome: wire.Completed}, end)
	require.Equal(t, "Your inbox: on", text)
}

func TestTheExampleInPython(t *testing.T) {
	path := example(t, "python")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("there is no python3 here, so this example was not run; CI must have one")
		require.Empty(t, os.Getenv("CI"), "CI must have python3: %v", err)
		return
	}
	// A version manager's python3 may need more of the environment.
	m := manager(t, keeping(python, path), func(cfg *Config) { cfg.InterruptGrace = patience; cfg.PassEnv = []string{"PYENV_*"} })
	for range 2 {
		text, end := collect(m, told("t", "hello wörld 🙂"), "")
		require.Equal(t, wire.TurnEnd{Outcome: wire.Completed}, end)
		require.Equal(t, "hello wörld 🙂 ", text)
	}
	s, ended := begin(t, m, told("u", strings.Repeat("word ", 10_000)))
	s.await(t, "word ")
	require.NoError(t, m.Interrupt(t.Context(), "session", "u"))
	require.Equal(t, wire.TurnEnd{Outcome: wire.Cancelled}, await(t, ended))
	text, end := collect(m, told("v", "again"), "")
	require.Equal(t, wire.TurnEnd{Outcome: wire.Completed}, end)
	require.Equal(t, "again ", text)
}

// echo says its process id and environment, turn after turn.
const echo = `while IFS= read -r line; do
printf '{"type":"response.output_text.delta","delta":"%s"}\n' "$$ $(env | tr '\n"\\' ';  ')"
printf '{"type":"response.completed"}\n'; done`

func TestAKeptProgram(t *testing.T) {
	t.Setenv("CANARY_KEY", "canary-value")
	t.Setenv("OUTRUNNER_TOKEN", "canary-value")
	m := manager(t, keeping("sh", "-c", echo), func(cfg *Config) { cfg.Tools.Socket = "/run/tools.sock" })
	one, end := collect(m, told("t", "a"), "")
	require.Equal(t, wire.TurnEnd{Outcome: wire.Completed}, end)
	two, end := collect(m, told("u", "b"), "")
	require.Equal(t, wire.TurnEnd{Outcome: wire.Completed}, end)
	require.Equal(t, one, two, "one process")
	require.NotContains(t, one, "canary")
	require.NotContains(t, one, "CANARY")
	require.NotContains(t, one, "OUTRUNNER_TURN_ID")
	require.Contains(t, one, "OUTRUNNER_SESSION_ID=session;")
	require.Contains(t, one, "OUTRUNNER_TOOLS=/run/tools.sock;")

	require.NoError(t, m.Close(t.Context(), "session"))
	three, end := collect(m, told("v", "c"), "")
	require.Equal(t, wire.TurnEnd{Outcome: wire.Completed}, end)
	require.NotEqual(t, one, three, "Close has ended the first")

	require.NoError(t, m.Shutdown(t.Context()))
	_, end = collect(m, told("w", "d"), "")
	require.Equal(t, wire.CodeRunnerRestarted, end.Error.Code)
}

func TestTraitsOfAKeptProgram(t *testing.T) {
	traits, ok := manager(t, keeping("cat")).Traits(talker)
	require.True(t, ok)
	require.Equal(t, wire.Traits{History: true}, traits)
	traits, _ = manager(t, keeping("cat"), func(c *Config) {
		def := c.Harnesses[talker]
		def.Steer = true
		c.Harnesses[talker] = def
	}).Traits(talker)
	require.Equal(t, wire.Traits{History: true, Steer: true}, traits)
}

func TestSendToWhatDoesNotListenIsNoError(t *testing.T) {
	m := manager(t)
	result := wire.ToHarness{Type: wire.ToolResult, CallID: "c"}
	require.NoError(t, m.Send(t.Context(), "session", "nothing", result))
	s, ended := begin(t, m, message("t", "echo ready; sleep 1000"))
	s.await(t, "ready")
	require.NoError(t, m.Send(t.Context(), "session", "t", result))
	require.NoError(t, m.Interrupt(t.Context(), "session", "t"))
	await(t, ended)
}

func TestAKeptProgramHasNoPlaceForTheMessage(t *testing.T) {
	_, err := New(Config{Guard: []string{"g"}, Harnesses: map[string]Definition{
		talker: {Adapter: AdapterStdio, Command: []string{"sh", "-c", "{message}"}},
	}})
	require.ErrorContains(t, err, "harnesses.acp:talker.command: {message} is for the adapter exec")
	_, err = New(Config{Guard: []string{"g"}, Harnesses: map[string]Definition{
		talker: {Adapter: AdapterStdio, Command: []string{"sh"}, IdleReap: -time.Second},
	}})
	require.ErrorContains(t, err, "harnesses.acp:talker: a timeout is negative")
}
