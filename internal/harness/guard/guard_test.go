package guard

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func begin(t *testing.T, argv ...string) *Proc {
	t.Helper()
	self, err := Self()
	require.NoError(t, err)
	p, err := Start(Command{
		Guard: self, Argv: argv, Dir: t.TempDir(), Env: os.Environ(),
		InterruptGrace: 300 * time.Millisecond, TerminateGrace: 300 * time.Millisecond,
	})
	require.NoError(t, err)
	return p
}

func TestOutputAndEnd(t *testing.T) {
	p := begin(t, "bash", "-c", "echo out; echo err >&2; exit 200")
	require.NoError(t, p.Started())
	out, err := io.ReadAll(p.Output)
	require.NoError(t, err)
	require.Equal(t, "out\nerr\n", string(out))
	require.Equal(t, End{Code: 200}, p.Wait())
	require.NoError(t, p.Signal(Kill), "too late is no error")
	p.Abandon()
}

func TestTalk(t *testing.T) {
	self, err := Self()
	require.NoError(t, err)
	p, err := Start(Command{
		Guard: self, Argv: []string{"bash", "-c", "echo hello; read line; echo \"heard $line\"; echo err >&2; exec >&- 2>&-; cat; exit 3"},
		Dir: t.TempDir(), Env: os.Environ(), Talk: true,
	})
	require.NoError(t, err)
	require.NoError(t, p.Started())
	out := bufio.NewReader(p.Out)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line, "before anything is said")
	_, err = p.In.WriteString("you\n")
	require.NoError(t, err)
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "heard you\n", string(rest), "and the end comes while the program lives")
	require.NoError(t, p.In.Close())
	log, err := io.ReadAll(p.Output)
	require.NoError(t, err)
	require.Equal(t, "err\n", string(log))
	require.Equal(t, End{Code: 3}, p.Wait())
}

func TestArgumentsArePassedAsBytes(t *testing.T) {
	p := begin(t, "printf", "%s", "\xff\xfe é")
	require.NoError(t, p.Started())
	out, err := io.ReadAll(p.Output)
	require.NoError(t, err)
	require.Equal(t, "\xff\xfe é", string(out))
	require.Equal(t, End{}, p.Wait())
}

func TestASignalBeforeTheProgramRunsReachesIt(t *testing.T) {
	for step, signal := range map[Step]string{Interrupt: "SIGINT", Terminate: "SIGTERM", Kill: "SIGKILL"} {
		p := begin(t, "sleep", "1000")
		require.NoError(t, p.Signal(step))
		require.NoError(t, p.Started())
		_, err := io.ReadAll(p.Output)
		require.NoError(t, err)
		require.Equal(t, End{Signal: signal, Step: step}, p.Wait())
	}
}

func TestNotStarted(t *testing.T) {
	p := begin(t, "no-such-program")
	require.Equal(t, &NotStarted{Reason: "not found in PATH", Missing: true}, p.Started())
	_, err := io.ReadAll(p.Output)
	require.NoError(t, err)
	require.Equal(t, End{}, p.Wait())
}

func TestByHandItSaysWhatItIs(t *testing.T) {
	cmd := exec.Command(os.Args[0], "guard")
	var out bytes.Buffer
	cmd.Stderr = &out
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	require.Equal(t, 2, exit.ExitCode())
	require.Equal(t, "outrunner guard is started by the runner, not by hand\n", out.String())
}
