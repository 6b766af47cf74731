//go:build unix

package embedded

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// An agent that speaks MCP gives its sub-agents tasks and reads their results:
// the official client, the built program as its server, the runner behind it.
func TestAnAgentUsesTheToolsByMCP(t *testing.T) {
	w := newWorld(t)
	w.Settled(testkit.Patience, w.root, w.Send(w.root, "hello")) // it is bound now
	bridge := exec.Command(testkit.Binary(t), "mcp", "--session", w.root, "--state", w.runner.State)
	agent, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: bridge}, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, agent.Close()) }()

	call := func(tool string, args map[string]any) string {
		t.Helper()
		res, err := agent.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		require.NoError(t, err)
		text := res.Content[0].(*mcp.TextContent).Text
		require.False(t, res.IsError, text)
		return text
	}
	list, err := agent.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	require.Contains(t, names, "sys_session_send")
	require.NotContains(t, names, "sys_session_create", "the agent may not spawn")

	require.Contains(t, call("sys_session_send", map[string]any{"agent": "worker", "title": "one", "args": "do it"}), `"status":"launching"`)
	require.Contains(t, call("sys_session_send", map[string]any{"agent": "critic", "title": "two", "args": "do it"}), `"status":"launching"`)
	read := ""
	testkit.Until(t, testkit.Patience, func() bool {
		read += call("sys_read_inbox", nil) + "\n"
		return w.told("worker has done it")+strings.Count(read, "worker has done it") > 0 && w.told("critic has done it")+strings.Count(read, "critic has done it") > 0
	}, func() string { return "the results of both are not read: " + read })
	w.completed()
	kids := w.children()
	require.Contains(t, call("sys_session_list", nil), kids["worker"].ID)
	require.Contains(t, call("sys_session_get_info", map[string]any{"session_id": kids["critic"].ID}), `"sub_agent_name":"critic"`)
	require.Contains(t, call("sys_session_get_history", map[string]any{"conversation_id": kids["worker"].ID}), "worker has done it")
	require.Contains(t, call("sys_cancel_task", map[string]any{"task_id": kids["worker"].ID}), "task_not_found")
}
