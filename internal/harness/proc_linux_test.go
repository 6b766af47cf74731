package harness

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// marked lists the processes with a turn's id in their environment: its guard,
// its program, and whatever they started.
func marked(t *testing.T, turn string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, e := range entries {
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && bytes.Contains(env, []byte("OUTRUNNER_TURN_ID="+turn+"\x00")) {
			pid, err := strconv.Atoi(e.Name())
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}

func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// nasty is a script whose processes do all they can to stay: they ignore TERM,
// leave the session, are orphans twice over, and fork on.
const nasty = `
trap '' TERM INT
setsid bash -c 'trap "" TERM INT HUP; while :; do sleep 0.1; done' &
( ( setsid bash -c 'trap "" TERM INT HUP; while :; do sleep 0.1; done' & ) & )
setsid setsid bash -c 'trap "" TERM; refork() { sleep 0.02; (refork) & exit; }; (refork) &' &
bash -c 'exec -a "a) S 1 (b" sleep 1000' &
sleep 0.3
echo ready
while :; do sleep 0.1; done`

func TestNothingIsLeft3sAfterTheRunnerIsKilled(t *testing.T) {
	turn := rand.Text()
	runner := exec.Command(testBinary(t), "mini-runner", turn, nasty)
	runner.Dir = t.TempDir()
	out, err := runner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, runner.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	require.Greater(t, len(marked(t, turn)), 5, "the guard and its family")

	require.NoError(t, runner.Process.Kill())
	killed := time.Now()
	require.Error(t, runner.Wait())
	require.Eventually(t, func() bool { return len(marked(t, turn)) == 0 }, patience, 20*time.Millisecond)
	require.Less(t, time.Since(killed), 3*time.Second)
}

func TestNothingIsLeftAfterAnOrdinaryEnd(t *testing.T) {
	m := manager(t)
	turn := rand.Text()
	s := newScreen()
	started := time.Now()
	end := m.Turn(t.Context(), message(turn, strings.Replace(nasty, "while :; do sleep 0.1; done", "", 3)+"\nexit 4"), s.emit)
	require.Equal(t, "bash exited with status 4", end.Error.Message, "told by its own end, whatever it left behind")
	require.Empty(t, marked(t, turn))
	require.Less(t, time.Since(started), patience)

	// Background jobs that hear TERM cost no grace at all.
	started = time.Now()
	m = manager(t, func(cfg *Config) { cfg.TerminateGrace = time.Hour })
	end = m.Turn(t.Context(), message(turn, "sleep 1000 & setsid sleep 1000 & echo done"), s.emit)
	require.Equal(t, wire.Completed, end.Outcome)
	require.Empty(t, marked(t, turn))
	require.Less(t, time.Since(started), patience)
}

func TestWhatABackgroundJobWritesBeforeItEndsCounts(t *testing.T) {
	m := manager(t)
	text, end := run(t, m, `(trap 'echo last; exit' TERM; echo up > ready; while :; do sleep 0.05; done) & until [ -e ready ]; do sleep 0.01; done`)
	require.Equal(t, wire.Completed, end.Outcome)
	require.Contains(t, text, "last\n")
}

func killProcess(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(n, syscall.SIGKILL))
}

func TestKillingTheGuardKillsTheProgram(t *testing.T) {
	m := manager(t)
	turn := rand.Text()
	s, ended := begin(t, m, message(turn, "sleep 1000 & echo $PPID; wait"))
	s.await(t, "\n")
	killProcess(t, s.text())
	end := await(t, ended)
	require.Equal(t, wire.CodeCrashed, end.Error.Code)
	require.Contains(t, end.Error.Message, "guards bash was killed")
	require.Eventually(t, func() bool { return len(marked(t, turn)) == 0 }, patience, 10*time.Millisecond)
}

func TestKillingTheGuardKillsAProgramThatLeftItsGroup(t *testing.T) {
	m := manager(t, shell(func(d *Definition) { d.Command = []string{testBinary(t), "leave-group"} }))
	turn := rand.Text()
	s, ended := begin(t, m, message(turn, "x"))
	s.await(t, "\n")
	killProcess(t, s.text())
	require.Equal(t, wire.CodeCrashed, await(t, ended).Error.Code)
	require.Eventually(t, func() bool { return len(marked(t, turn)) == 0 }, patience, 10*time.Millisecond)
}

func TestAProcessThatOutlivesAKilledGuardDoesNotHoldTheTurn(t *testing.T) {
	m := manager(t)
	turn := rand.Text()
	s, ended := begin(t, m, message(turn, "setsid sleep 1000 & echo $PPID; wait"))
	s.await(t, "\n")
	require.Eventually(t, func() bool { return len(marked(t, turn)) == 3 }, patience, 10*time.Millisecond)
	killProcess(t, s.text())
	require.Equal(t, wire.CodeCrashed, await(t, ended).Error.Code)
	for _, pid := range marked(t, turn) { // the limit that doc.go tells
		killProcess(t, strconv.Itoa(pid))
	}
}

// leaveGroup is a program that joins its guard's group and never ends.
func leaveGroup() int {
	if err := syscall.Setpgid(0, syscall.Getppid()); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(syscall.Getppid())
	if err := syscall.Pause(); err != nil {
		fmt.Println(err)
	}
	return 1
}

func TestAHungGuardDoesNotHoldTheTurn(t *testing.T) {
	m := manager(t, func(cfg *Config) { cfg.GuardLimit = 100 * time.Millisecond })
	turn := rand.Text()
	s, ended := begin(t, m, message(turn, "echo $PPID; sleep 1000"))
	s.await(t, "\n")
	require.NoError(t, exec.Command("kill", "-STOP", strings.TrimSpace(s.text())).Run())
	require.NoError(t, m.Interrupt(t.Context(), "session", turn))
	end := await(t, ended)
	require.Equal(t, wire.CodeInterruptIgnored, end.Error.Code)
	require.Eventually(t, func() bool { return len(marked(t, turn)) == 0 }, patience, 10*time.Millisecond)
}

func TestInterruptWorksInARunnerThatWasStartedWithoutSIGINT(t *testing.T) {
	turn := rand.Text()
	// What `outrunner up &` in a script does: the background has SIGINT ignored.
	runner := exec.Command("bash", "-c", `trap '' INT; exec "$0" mini-runner "$1" 'kill -INT $$; echo alive'`, testBinary(t), turn)
	runner.Dir = t.TempDir()
	out, err := runner.CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "end: failed\n", string(out), "it died of SIGINT")
}

func TestAFloodWithASlowReaderBlocksTheProgram(t *testing.T) {
	m := manager(t)
	dir := m.cfg.Workspace
	const total = 10 << 20
	reading := make(chan struct{})
	var once sync.Once
	got, biggest := 0, 0
	ended := make(chan wire.TurnEnd, 1)
	go func() {
		ended <- m.Turn(t.Context(), message("t",
			`for i in $(seq 160); do head -c 65536 /dev/zero | tr '\0' x; echo $i > progress; done`), func(e wire.HarnessEvent) error {
			<-reading
			got += len(e.Delta)
			biggest = max(biggest, len(e.Delta))
			return nil
		})
	}()
	defer once.Do(func() { close(reading) })
	progress := func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "progress"))
		return strings.TrimSpace(string(b))
	}
	// It stands still once the pipe is full, long before the end.
	last, since := "", time.Now()
	require.Eventually(t, func() bool {
		if now := progress(); now != last || now == "" {
			last, since = now, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond
	}, patience, 10*time.Millisecond)
	n, err := strconv.Atoi(last)
	require.NoError(t, err)
	require.LessOrEqual(t, n, 3)

	once.Do(func() { close(reading) })
	require.Equal(t, wire.Completed, await(t, ended).Outcome)
	require.Equal(t, total, got)
	require.LessOrEqual(t, biggest, 16<<10)
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

func TestManyTurnsAtOnceLeakNothing(t *testing.T) {
	m := manager(t)
	run(t, m, "true") // whatever is opened once is open now
	before := openFiles(t)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			turn, s := fmt.Sprint("many", i), newScreen()
			end := m.Turn(t.Context(), message(turn, fmt.Sprintf("echo start %d; sleep 0.2 & wait; echo end %d", i, i)), s.emit)
			require.Equal(t, wire.Completed, end.Outcome, "%v", end.Error)
			require.Equal(t, fmt.Sprintf("start %d\nend %d\n", i, i), s.text())
		})
	}
	wg.Wait()
	for range 5 { // failures must not leak either
		start := message("t", "x")
		start.Workspace = "gone"
		m.Turn(t.Context(), start, newScreen().emit)
		run(t, manager(t, shell(func(d *Definition) { d.Command = []string{"no-such-program"} })), "x")
		run(t, manager(t, func(cfg *Config) { cfg.Guard = []string{"/no/such/guard"} }), "x")
	}
	require.Equal(t, before, openFiles(t))
	require.Empty(t, m.turns.live)
}

func TestTheProgramInheritsNothingButItsStreams(t *testing.T) {
	// A file that whoever started the runner left open for its children.
	f, err := os.Open("/dev/null")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	inherited, err := syscall.Dup(int(f.Fd()))
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Close(inherited)) }()

	text, end := run(t, manager(t), "exec ls /proc/self/fd")
	require.Equal(t, wire.Completed, end.Outcome)
	require.Equal(t, "0\n1\n2\n3\n", text, "3 is the folder that ls reads")
}
