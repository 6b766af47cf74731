package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
)

// Child is what the server tells of a sub-agent's session.
type Child struct {
	ID     string            `json:"id"`
	Tool   string            `json:"tool"`         // the sub-agent
	Name   string            `json:"session_name"` // the title that its parent gave it
	Busy   bool              `json:"busy"`
	Status string            `json:"current_task_status"`
	Labels map[string]string `json:"labels"`
}

// Dispatched is the id of the child's newest task, and whether the server knows
// that its result was read.
func (c Child) Dispatched() (id string, read bool) {
	id = c.Labels["omnigent.subagent.dispatch_id"]
	return id, id != "" && id == c.Labels["omnigent.subagent.delivered_id"]
}

// Children are the sub-agents' sessions of one, at most a hundred.
func (a *API) Children(parent string) ([]Child, error) {
	var page struct{ Data []Child }
	err := a.call(http.MethodGet, "/v1/sessions/"+parent+"/child_sessions?limit=100", nil, &page)
	return page.Data, err
}

// Tool has a session's tool run as its program does, and returns its output. The
// same operation may be asked for again.
func (a *API) Tool(session, name, operation, args string) (string, error) {
	var answer struct {
		Result struct {
			Content []struct{ Text string }
		}
		Error *struct{ Message string }
	}
	err := a.call(http.MethodPost, "/v1/sessions/"+session+"/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": json.RawMessage(args), "_omnigent_operation_id": operation}}, &answer)
	switch {
	case err != nil:
		return "", err
	case answer.Error != nil:
		return "", errors.New(answer.Error.Message)
	case len(answer.Result.Content) != 1:
		return "", fmt.Errorf("the answer has %d contents", len(answer.Result.Content))
	}
	return answer.Result.Content[0].Text, nil
}

// AddAgentFiles gives the server an agent of its own, by the files of its
// folder: config.yaml, agents/worker/config.yaml.
func (s *Server) AddAgentFiles(name string, files map[string]string) {
	s.t.Helper()
	for file, text := range files {
		path := filepath.Join(s.State, "server", "agents", name, filepath.FromSlash(file))
		require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
	}
}
