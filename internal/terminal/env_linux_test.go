package terminal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// T29, T31, T34: what a program finds in its environment.
func TestWhatAProgramFinds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	m, _ := startManager(t, Config{Environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/home", "KEEP=1", "TAKEN=1", "LANG=C", "TERM=dumb", "TMUX=/x,1,0", "TMUX_PANE=%9",
		"OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN=secret", "OMNIGENT_RUNNER_INITIAL_AUTH_TOKEN=secret", "OUTRUNNER_TOKEN=secret",
		"OUTRUNNER_SECRET_FILE=secret", "OMNIGENT_TERMINAL_INSTANCE_ID=outer", "OMNIGENT_TMUX_SOCK=/outer",
	}})
	spec := shell("a", `tr '\0' '\n' < /proc/$$/environ > `+file+`.part; mv `+file+`.part `+file+`; sleep 1000`)
	spec.Env, spec.UnsetEnv = map[string]string{"OWN": "a b;", "KEEP": "2"}, []string{"TAKEN"}
	made := launch(t, m, spec)
	got := string(arrived(t, file))
	for _, want := range []string{
		"OWN=a b;", "KEEP=2", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "COLORTERM=truecolor", "HOME=/home",
		"OMNIGENT_TERMINAL_INSTANCE_ID=" + made.Generation, "OMNIGENT_TERMINAL_LAUNCH_SESSION_ID=s1",
	} {
		require.Contains(t, "\n"+got, "\n"+want+"\n")
	}
	require.Regexp(t, `(?m)^TERM=(tmux|screen)`, got)
	for _, bad := range []string{"secret", "TAKEN", "outer", "/x,1,0"} {
		require.NotContains(t, got, bad)
	}
	require.NotContains(t, tmuxSays(t, made, "show-environment", "-g"), "secret")
	// tmux itself is a process that a program can look at.
	pid := tmuxSays(t, made, "display-message", "-p", "#{pid}")
	environ, err := os.ReadFile("/proc/" + pid + "/environ")
	require.NoError(t, err)
	require.NotContains(t, string(environ), "secret")
}
