package journal

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// writer is the child of TestKillLosesNothingAcknowledged: it commits batches
// of three for ever and prints the number of each once it is acknowledged.
func writer(path string) int {
	db, err := Open(path, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	have, err := db.Load()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for n := len(have) / 3; ; n++ {
		if err := db.Commit(batch(3*n, 3)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if _, err := fmt.Println(n); err != nil {
			return 1
		}
	}
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	acknowledged := -1
	for round := range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "JOURNAL_TEST_WRITER="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			acknowledged, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
			if n == 20*(round+1) {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait(), "killed")
		require.Greater(t, acknowledged, 0)
	}
	got := load(t, open(t, path))
	require.Zero(t, len(got)%3, "a batch is there whole or not at all")
	require.GreaterOrEqual(t, len(got)/3, acknowledged+1)
	require.Equal(t, items(batch(0, len(got))), got, "in order, once")
}
