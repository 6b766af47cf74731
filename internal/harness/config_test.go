package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/internal/harness/acp"
	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/runner/wire"
)

func TestConfigErrorsNameTheKey(t *testing.T) {
	ok := Definition{Adapter: AdapterExec, Command: []string{"cat"}}
	with := func(edit func(*Definition)) Config {
		def := ok
		edit(&def)
		return Config{Guard: []string{"g"}, Harnesses: map[string]Definition{"acp:mine": def}}
	}
	tests := map[string]struct {
		cfg  Config
		says string
	}{
		"no adapter":      {with(func(d *Definition) { d.Adapter = "" }), "harnesses.acp:mine.adapter is missing"},
		"unknown adapter": {with(func(d *Definition) { d.Adapter = "magic" }), `harnesses.acp:mine.adapter: there is no adapter "magic"`},
		"no command":      {with(func(d *Definition) { d.Command = nil }), "harnesses.acp:mine.command is empty"},
		"blank program":   {with(func(d *Definition) { d.Command = []string{" "} }), "harnesses.acp:mine.command is empty"},
		"message as name": {with(func(d *Definition) { d.Command = []string{"{message}"} }), "harnesses.acp:mine.command"},
		"idle":            {with(func(d *Definition) { d.IdleTimeout = -1 }), "harnesses.acp:mine"},
		"output":          {with(func(d *Definition) { d.MaxOutput = -1 }), "harnesses.acp:mine.max_output"},
		"env name":        {with(func(d *Definition) { d.Env = map[string]string{"A=B": "c"} }), "harnesses.acp:mine.env"},
		"env secret":      {with(func(d *Definition) { d.Env = map[string]string{"OUTRUNNER_TOKEN": "c"} }), "harnesses.acp:mine.env: OUTRUNNER_TOKEN"},
		"pass secret":     {with(func(d *Definition) { d.PassEnv = []string{"OMNIGENT_RUNNER_ID"} }), "harnesses.acp:mine.pass_env: OMNIGENT_RUNNER_ID"},
		"pass secret all": {Config{Guard: []string{"g"}, PassEnv: []string{"OUTRUNNER_TOKEN"}}, "pass_env: OUTRUNNER_TOKEN"},
		"no guard":        {Config{}, "no guard command"},
		"for agents":      {with(func(d *Definition) { d.ACP.SendModel = true }), "harnesses.acp:mine: model, session_id_mode"},
		"no placeholder": {with(func(d *Definition) { d.Adapter, d.Command = AdapterACP, []string{"a", "{message}"} }),
			"{message} is for the adapter exec"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(tt.cfg)
			require.ErrorContains(t, err, tt.says)
		})
	}
}

func TestTraits(t *testing.T) {
	m := manager(t)
	traits, ok := m.Traits(Shell)
	require.True(t, ok)
	require.Equal(t, wire.Traits{OneMessagePerTurn: true}, traits)
	_, ok = m.Traits("acp:other")
	require.False(t, ok)
}

func TestAnAgentIsSilentForAShorterTime(t *testing.T) {
	agent := Definition{Adapter: AdapterACP, Command: []string{"agent"}, ACP: acp.Options{Model: "m"}}
	patient := agent
	patient.IdleTimeout = time.Hour
	m, err := New(Config{Guard: []string{"g"}, Harnesses: map[string]Definition{"acp:a": agent, "acp:b": patient}})
	require.NoError(t, err)
	require.Equal(t, DefaultAgentIdleTimeout, m.cfg.Harnesses["acp:a"].IdleTimeout)
	require.Equal(t, time.Hour, m.cfg.Harnesses["acp:b"].IdleTimeout)
	require.Equal(t, DefaultIdleTimeout, m.cfg.Harnesses[Shell].IdleTimeout)
	traits, _ := m.Traits("acp:a")
	require.Equal(t, wire.Traits{Resume: true, History: true}, traits)
	require.NoError(t, Check("acp:a", agent))
	require.ErrorContains(t, Check("acp:a", Definition{Adapter: AdapterACP}), "harnesses.acp:a.command is empty")
}

// An agent gets the environment of every other program.
func TestTheEnvironmentOfAnAgent(t *testing.T) {
	t.Setenv("OUTRUNNER_TEST_PASSED", "1")
	t.Setenv("OUTRUNNER_TEST_KEPT", "1")
	dir := t.TempDir()
	self, err := guard.Self()
	require.NoError(t, err)
	m, err := New(Config{Guard: self, Workspace: dir, Harnesses: map[string]Definition{"acp:a": {
		Adapter: AdapterACP, Command: []string{"sh", "-c", "env > env; exit 1"}, PassEnv: []string{"OUTRUNNER_TEST_PASSED"},
	}}})
	require.NoError(t, err)
	start := message("t", "x")
	start.Harness = "acp:a"
	require.Equal(t, wire.CodeExitStatus, m.Turn(t.Context(), start, newScreen().emit).Error.Code)
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	require.NoError(t, err)
	require.Contains(t, string(text), "OUTRUNNER_TEST_PASSED=1")
	require.NotContains(t, string(text), "OUTRUNNER_TEST_KEPT")
	require.NotContains(t, string(text), "OUTRUNNER_TURN_ID")
}

func TestAnUnknownHarnessIsAFailedTurn(t *testing.T) {
	start := message("t", "echo")
	start.Harness = "acp:other"
	end := manager(t).Turn(t.Context(), start, newScreen().emit)
	require.Equal(t, wire.CodeHarnessUnknown, end.Error.Code)
	require.Contains(t, end.Error.Message, `"acp:other" is not configured`)
	require.Contains(t, end.Error.Message, "config file")
}

func TestTheUserMayReplaceTheShell(t *testing.T) {
	m := manager(t, shell(func(d *Definition) {
		d.Command = []string{"printf", "%s|%s|%s", "a{message}b", "{message}{message}", "$HOME"}
	}))
	text, end := run(t, m, "x y; {message}")
	require.Equal(t, wire.Completed, end.Outcome)
	require.Equal(t, "ax y; {message}b|x y; {message}x y; {message}|$HOME", text)
}

func TestMessageOnStandardInput(t *testing.T) {
	m := manager(t, shell(func(d *Definition) { d.Command = []string{"wc", "-c"} }))
	long := strings.Repeat("0123456789", 400_000) // too long for any command line, and for a pipe's buffer
	text, end := run(t, m, long)
	require.Equal(t, wire.Completed, end.Outcome, "%v", end.Error)
	require.Equal(t, "4000000", strings.TrimSpace(text))

	m = manager(t, shell(func(d *Definition) { d.Command = []string{"true"} }))
	_, end = run(t, m, long)
	require.Equal(t, wire.Completed, end.Outcome, "a program need not read it")
}

func TestWorkspace(t *testing.T) {
	root := t.TempDir()
	root, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(root, "sub dir"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	m := manager(t, func(cfg *Config) { cfg.Workspace = root })
	for workspace, want := range map[string]string{
		"": root, "sub dir": filepath.Join(root, "sub dir"), filepath.Join(root, "sub dir"): filepath.Join(root, "sub dir"),
	} {
		s, start := newScreen(), message("t", "pwd; echo $PWD")
		start.Workspace = workspace
		require.Equal(t, wire.Completed, m.Turn(t.Context(), start, s.emit).Outcome)
		require.Equal(t, want+"\n"+want+"\n", s.text())
	}
	for workspace, says := range map[string]string{"gone": "does not exist", "file": "is not a folder"} {
		start := message("t", "pwd")
		start.Workspace = workspace
		end := m.Turn(t.Context(), start, newScreen().emit)
		require.Equal(t, wire.CodeSpawnFailed, end.Error.Code)
		require.Contains(t, end.Error.Message, filepath.Join(root, workspace))
		require.Contains(t, end.Error.Message, says)
	}
}

func TestSpawnErrorsNameTheProgramAndTheNextStep(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	tests := map[string]struct {
		command []string
		says    string
	}{
		"not in PATH":       {[]string{"no-such-program"}, `cannot start "no-such-program": not found in PATH; install it or set harnesses: "acp:shell": command: in the config file`},
		"no such file":      {[]string{"/no/such/program"}, "no such file"},
		"not executable":    {[]string{file("plain", "text", 0o600)}, "permission denied"},
		"a folder":          {[]string{dir}, "is a directory"},
		"below a file":      {[]string{file("p", "", 0o700) + "/x"}, "not a directory"},
		"no interpreter":    {[]string{file("script", "#!/no/such/interpreter\n", 0o700)}, "its interpreter is missing"},
		"not a program":     {[]string{file("data", "\x00\x01\x02\x03", 0o700)}, "not a program for this machine"},
		"too long for argv": {[]string{"bash", "-c", "{message}"}, "too long for a command line"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := manager(t, shell(func(d *Definition) { d.Command = tt.command }))
			text, end := run(t, m, strings.Repeat("x", 200_000))
			require.Empty(t, text)
			require.Equal(t, wire.Failed, end.Outcome)
			require.Equal(t, wire.CodeSpawnFailed, end.Error.Code)
			require.Contains(t, end.Error.Message, tt.command[0])
			require.Contains(t, end.Error.Message, tt.says)
		})
	}
}

func TestAGuardThatCannotBeStarted(t *testing.T) {
	m := manager(t, func(cfg *Config) { cfg.Guard = []string{"/no/such/guard"} })
	_, end := run(t, m, "echo")
	require.Equal(t, wire.CodeSpawnFailed, end.Error.Code)
	require.Contains(t, end.Error.Message, `cannot start "bash": starting the guard process`)

	m = manager(t, func(cfg *Config) { cfg.Guard = []string{"true"} })
	_, end = run(t, m, "echo")
	require.Equal(t, wire.CodeSpawnFailed, end.Error.Code)
	require.Contains(t, end.Error.Message, `cannot start "bash": its guard process died; the machine may be out of memory`)
}

func TestOnSpawnComesBeforeAnyOutputIsRead(t *testing.T) {
	s := newScreen()
	var before string
	calls := 0
	m := manager(t, func(cfg *Config) { cfg.OnSpawn = func() { calls++; before = s.text() } })
	require.Equal(t, wire.Completed, m.Turn(t.Context(), message("t", "echo hi"), s.emit).Outcome)
	require.Equal(t, 1, calls)
	require.Empty(t, before)
	require.Equal(t, "hi\n", s.text())
}
