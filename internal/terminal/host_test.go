//go:build unix

package terminal

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

const envHost = "OUTRUNNER_TEST_TERMINAL_HOST"

// hostTerminals is another runner, for tests that kill it: this test's program,
// started again.
func hostTerminals(dir string) {
	m, err := New(Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	spec := shell("a", `stty -echo; printf '\033[?2004h\033]2;a title\033\\first \033[31mred\033[0m\n'; while read x; do echo "got $x"; done`)
	for _, session := range []string{"s1", "s2"} {
		spec.Session = session
		if _, err := m.Launch(context.Background(), spec); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	if err := m.Type(context.Background(), "s1", "terminal_sh_a", "before", []string{"Enter"}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	if os.Getenv(envHost+"_STOP") != "" {
		for shown := false; !shown; {
			text, err := m.Screen(context.Background(), "s1", "terminal_sh_a", 0)
			shown = err != nil || strings.Contains(text, "got before")
		}
		m.Stop()
		os.Exit(0)
	}
	select {}
}

func startHost(t *testing.T, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), envHost+"="+dir), env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return cmd
}

func panePIDs(t *testing.T, dir string) map[string]string {
	t.Helper()
	pids := map[string]string{}
	sockets, err := filepath.Glob(filepath.Join(dir, "*", socketFile))
	require.NoError(t, err)
	for _, socket := range sockets {
		pids[filepath.Base(filepath.Dir(socket))] = tmuxSays(t, wire.Terminal{Socket: socket}, "list-panes", "-F", "#{pane_pid}")
	}
	return pids
}

// T22: a runner that is killed leaves its terminals to the next one: same ids,
// same processes, same screens.
func TestTerminalsOutliveAKilledRunner(t *testing.T) {
	dir := shortDir(t)
	host := startHost(t, dir)
	before := panePIDs(t, dir)
	require.Len(t, before, 2)

	// While that runner lives, nobody else takes them.
	second, book := startManager(t, Config{Dir: dir})
	require.Empty(t, second.List("s1"))
	second.Stop()
	require.Empty(t, book.of("created"))

	require.NoError(t, host.Process.Signal(syscall.SIGKILL))
	_ = host.Wait()
	m, book := startManager(t, Config{Dir: dir})
	eventually(t, func() bool { return len(book.of("created")) == 2 })
	require.Equal(t, before, panePIDs(t, dir))
	list := m.List("s1")
	require.Len(t, list, 1)
	require.Equal(t, "terminal_sh_a", list[0].ID())
	require.Contains(t, before, list[0].Generation)

	b := look(t, m, list[0], 80, 24)
	b.shows(t, "first red")
	b.shows(t, "got before")
	require.Contains(t, b.rawText(), "a title")
	b.keys("after\r")
	b.shows(t, "got after")
	again, err := m.Launch(context.Background(), shell("a", "never"))
	require.NoError(t, err)
	require.Equal(t, list[0], again)

	// And once more: one that was adopted can be adopted.
	m.Stop()
	third, _ := startManager(t, Config{Dir: dir})
	require.Equal(t, list, third.List("s1"))
	require.NoError(t, third.CloseAll(context.Background(), "s1"))
	require.NoError(t, third.CloseAll(context.Background(), "s2"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// A runner that stops in good order leaves the modes that tmux does not know.
func TestAStoppedRunnerLeavesItsModes(t *testing.T) {
	dir := shortDir(t)
	host := startHost(t, dir, envHost+"_STOP=1")
	require.NoError(t, host.Wait())
	m, _ := startManager(t, Config{Dir: dir})
	b := look(t, m, m.List("s1")[0], 80, 24)
	b.shows(t, "got before")
	require.Contains(t, b.rawText(), "\x1b[?2004h")
}

// Two terminals of one id cannot be; if there are, the older one stays, and
// neither is left behind.
func TestOneOfTwoIsTakenOver(t *testing.T) {
	dir := shortDir(t)
	m, _ := startManager(t, Config{Dir: dir})
	older := launch(t, m, shell("a", "sleep 1000"))
	other := shell("a", "sleep 1000")
	other.Session = "s2"
	younger := launch(t, m, other)
	m.Stop()
	f, err := holdFolder(filepath.Dir(younger.Socket))
	require.NoError(t, err)
	r, err := f.load()
	require.NoError(t, err)
	r.Session = "s1"
	require.NoError(t, f.save(r))
	f.release()

	next, _ := startManager(t, Config{Dir: dir})
	require.Equal(t, []wire.Terminal{older}, next.List("s1"))
	require.NoDirExists(t, filepath.Dir(younger.Socket))
}

// T22: what does not live any more is cleared away, and what is another
// container's is left alone.
func TestWhatIsNotOursIsLeftAlone(t *testing.T) {
	dir := shortDir(t)
	host := startHost(t, dir)
	require.NoError(t, host.Process.Kill())
	_ = host.Wait()
	var folders []string
	for generation := range panePIDs(t, dir) {
		folders = append(folders, generation)
	}
	// One tmux dies; the other is said to belong elsewhere.
	_ = exec.Command("tmux", "-S", filepath.Join(dir, folders[0], socketFile), "kill-server").Run()
	f, err := holdFolder(filepath.Join(dir, folders[1]))
	require.NoError(t, err)
	r, err := f.load()
	require.NoError(t, err)
	r.Owner.Namespace = "pid:[1]"
	require.NoError(t, f.save(r))
	f.release()
	empty := filepath.Join(dir, newGeneration())
	require.NoError(t, os.Mkdir(empty, 0o700))
	strange := filepath.Join(dir, "mine", "file")
	require.NoError(t, os.Mkdir(filepath.Dir(strange), 0o700))
	require.NoError(t, os.WriteFile(strange, nil, 0o600))

	m, book := startManager(t, Config{Dir: dir})
	m.Stop()
	require.Empty(t, book.of("created"))
	require.NoDirExists(t, filepath.Join(dir, folders[0]))
	require.NoDirExists(t, empty)
	require.FileExists(t, strange)
	require.DirExists(t, filepath.Join(dir, folders[1]))

	// After another boot no socket lives.
	f, err = holdFolder(filepath.Join(dir, folders[1]))
	require.NoError(t, err)
	r.Owner.Boot = "another"
	require.NoError(t, f.save(r))
	f.release()
	killTmux(dir)
	m, _ = startManager(t, Config{Dir: dir})
	m.Stop()
	require.NoDirExists(t, filepath.Join(dir, folders[1]))
}
