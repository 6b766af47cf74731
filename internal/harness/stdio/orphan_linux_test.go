package stdio

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARestingProgramDoesNotOutliveTheRunner(t *testing.T) {
	// Neither hears the end of its input, and the child has left the group.
	program := talk + `trap '' TERM INT; setsid sleep 1000 & read -r line; text "$$ $!"; finish; while :; do sleep 0.05; done`
	runner := exec.Command("/proc/self/exe", "mini-runner", "sh", "-c", program)
	out, err := runner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, runner.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pids := strings.Fields(line)
	require.Len(t, pids, 2)
	alive := func() (n int) {
		for _, text := range pids {
			pid, err := strconv.Atoi(text)
			require.NoError(t, err)
			if syscall.Kill(pid, 0) == nil {
				n++
			}
		}
		return n
	}
	require.Equal(t, 2, alive())
	require.NoError(t, runner.Process.Kill())
	killed := time.Now()
	require.Error(t, runner.Wait())
	require.Eventually(t, func() bool { return alive() == 0 }, patience, 10*time.Millisecond)
	require.Less(t, time.Since(killed), 3*time.Second)
}
