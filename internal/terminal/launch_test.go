//go:build unix

package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a tmux is told before its program starts (terminals.md 2.2). Without
// escape-time 0 an ESC of a client on this machine would wait for the next key
// (T14).
func TestOptionsOfATmux(t *testing.T) {
	m, _ := startManager(t, Config{})
	spec := shell("a", "echo ready; sleep 1000")
	spec.Scrollback, spec.Passthrough = 4321, true
	made := launch(t, m, spec)
	options := tmuxSays(t, made, "show-options", "-s") + "\n" + tmuxSays(t, made, "show-options", "-g") + "\n" + tmuxSays(t, made, "show-options", "-wg") + "\n"
	for _, want := range []string{
		"escape-time 0", "extended-keys on", "set-clipboard external", "exit-empty off",
		"history-limit 4321", "mouse on", "focus-events on", "prefix None", "prefix2 None", "status on", "status-right-length 0",
		"status-left \"outrunner: #{@outrunner-session}\"", "window-size manual", "allow-passthrough on", "remain-on-exit on", "allow-rename off",
	} {
		require.Contains(t, options, want+"\n")
	}
	keys := tmuxSays(t, made, "list-keys", "-T", "root")
	require.NotContains(t, keys, "MouseDown3")
	require.Regexp(t, `PPage +if-shell`, keys)
	require.Equal(t, "80x24", tmuxSays(t, made, "display-message", "-p", "-t", "main", "#{window_width}x#{window_height}"))
	require.Len(t, strings.Split(tmuxSays(t, made, "list-panes", "-a"), "\n"), 1)
}
