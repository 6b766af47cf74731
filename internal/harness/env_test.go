package harness

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestEnvironmentIsDenyByDefault(t *testing.T) {
	own := []string{
		"PATH=/bin", "HOME=/h", "LC_TIME=de", "SHELL=/bin/zsh", "TERM=xterm", "PWD=/wrong", "OMNIGENT=0",
		"AWS_SECRET_ACCESS_KEY=canary", "GITHUB_TOKEN=canary", "MINE=1", "MY_A=2", "MY_B=3", "=C:=x", "broken",
		"OUTRUNNER_TOKEN=canary", "OUTRUNNER_TOKEN_FILE=canary", "OUTRUNNER_RUNNER_SECRET=canary",
		"OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN=canary", "OMNIGENT_RUNNER_ID=canary", "OMNIGENT_AUTH_TOKEN=canary",
	}
	set := map[string]string{"MY_B": "set", "EXTRA": "é=1"}
	got := environment(own, []string{"MINE", "MY_*"}, "/work dir", "s", "t", set)
	want := []string{
		"EXTRA=é=1", "HOME=/h", "LC_TIME=de", "MINE=1", "MY_A=2", "MY_B=set", "OMNIGENT=1",
		"OUTRUNNER_SESSION_ID=s", "OUTRUNNER_TURN_ID=t", "PATH=/bin", "PWD=/work dir", "SHELL=/bin/zsh", "TERM=dumb",
	}
	if locale := utf8Locale(); locale != "" {
		want = append(want, "LANG="+locale)
	}
	require.ElementsMatch(t, want, got)
	require.IsIncreasing(t, got)

	for _, entry := range environment(own, []string{"*"}, "/", "s", "t", nil) {
		name, value, _ := strings.Cut(entry, "=")
		if name != "AWS_SECRET_ACCESS_KEY" && name != "GITHUB_TOKEN" { // asked for by "*"
			require.NotEqual(t, "canary", value, "%s is never passed", name)
		}
	}
}

func TestALocaleIsKept(t *testing.T) {
	require.Contains(t, environment([]string{"LANG=de_DE.UTF-8"}, nil, "/", "s", "t", nil), "LANG=de_DE.UTF-8")
	for _, e := range environment([]string{"LC_ALL=fr_FR.UTF-8"}, nil, "/", "s", "t", nil) {
		require.NotContains(t, e, "LANG=")
	}
}

func TestChildAndGrandchildSeeNoSecrets(t *testing.T) {
	t.Setenv("CANARY_KEY", "canary-value")
	t.Setenv("OUTRUNNER_TOKEN", "canary-value")
	t.Setenv("OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN", "canary-value")
	t.Setenv("ASKED_FOR", "passed-on")
	m := manager(t, func(cfg *Config) { cfg.PassEnv = []string{"ASKED_FOR"} })
	// Its own environment, its child's, and those of every process that may be
	// asked by this user, the guard's included, but not those above the guard.
	text, end := run(t, m, `env; bash -c 'env; tr "\0" "\n" < /proc/$PPID/environ; tr "\0" "\n" < /proc/$(ps -o ppid= -p $PPID | tr -d " ")/environ' 2>/dev/null; echo end`)
	require.Equal(t, wire.Completed, end.Outcome)
	require.NotContains(t, text, "canary-value")
	require.NotContains(t, text, "CANARY_KEY")
	require.Contains(t, text, "ASKED_FOR=passed-on")
	require.Contains(t, text, "OUTRUNNER_SESSION_ID=session\n")
	require.Contains(t, text, "OUTRUNNER_TURN_ID=t\n")
	require.Contains(t, text, "TERM=dumb\n")
}
