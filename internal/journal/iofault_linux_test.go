package journal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fileLimit is the child of TestAfterAnIOErrorItIsOpenedAgain. A limit on the
// size of files makes real writes fail (EFBIG, which SQLite calls an I/O
// error), in the whole process: hence a child.
func fileLimit(path string) int {
	if err := breakAndMend(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func breakAndMend(path string) error {
	db, err := Open(path, nil)
	if err != nil {
		return err
	}
	if err := db.Commit(batch(1, 3)); err != nil {
		return err
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return err
	}
	limit := syscall.Rlimit{Cur: uint64(info.Size()) + 5000, Max: before.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	for range 2 {
		if err := db.Commit(batch(4, 1000)); err == nil {
			return fmt.Errorf("the commit did not fail")
		}
		if db.sql != nil {
			return fmt.Errorf("the connection was kept after an I/O error")
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	if err := db.Commit(batch(4, 1000)); err != nil {
		return err
	}
	return db.Close()
}

func TestAfterAnIOErrorItIsOpenedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_FILE_LIMIT="+path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, items(batch(1, 1003)), load(t, open(t, path)))
}
