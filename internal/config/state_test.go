package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClaimIsForOne(t *testing.T) {
	state := filepath.Join(t.TempDir(), "deep", "state")
	room, err := Claim(state, RunnerRoom)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(state, "runner"), room.Dir)

	_, err = Claim(state, RunnerRoom)
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, room.Dir)
	require.ErrorContains(t, err, "process "+strconv.Itoa(os.Getpid()))
	require.ErrorContains(t, err, "--state")

	other, err := Claim(state, ServerRoom)
	require.NoError(t, err, "the rooms are apart")
	require.NoError(t, other.Close())

	require.NoError(t, room.Close())
	room, err = Claim(state, RunnerRoom)
	require.NoError(t, err)
	require.NoError(t, room.Close())
}

func TestRoomsAreClosedToOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // no modes there
	}
	state := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.MkdirAll(filepath.Join(state, "runner"), 0o755))
	room, err := Claim(state, RunnerRoom)
	require.NoError(t, err)
	defer func() { require.NoError(t, room.Close()) }()
	_, err = room.Secret()
	require.NoError(t, err)
	for path, want := range map[string]os.FileMode{room.Dir: 0o700, room.Path("lock"): 0o600, room.Path("secret"): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), path)
	}
}

func TestAStateDirectoryThatCannotServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Claim(file, RunnerRoom)
	require.ErrorContains(t, err, file+" is a file")
	_, err = Claim(filepath.Join(file, "below"), RunnerRoom)
	require.ErrorContains(t, err, "choose another")
	if runtime.GOOS == "linux" {
		_, err = Claim("/proc/outrunner", RunnerRoom)
		require.ErrorContains(t, err, "making the state directory")
		require.ErrorContains(t, err, "--state")
	}
}

func TestSecretIsMadeOnceAndRandom(t *testing.T) {
	room, err := Claim(t.TempDir(), RunnerRoom)
	require.NoError(t, err)
	defer func() { require.NoError(t, room.Close()) }()
	first, err := room.Secret()
	require.NoError(t, err)
	require.Len(t, first, 43)
	again, err := room.Secret()
	require.NoError(t, err)
	require.Equal(t, first, again)

	other, err := Claim(t.TempDir(), RunnerRoom)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	second, err := other.Secret()
	require.NoError(t, err)
	require.NotEqual(t, first, second)
}

func TestABrokenSecretIsNeverReplaced(t *testing.T) {
	room, err := Claim(t.TempDir(), RunnerRoom)
	require.NoError(t, err)
	defer func() { require.NoError(t, room.Close()) }()
	for text, want := range map[string]string{
		"":                               "is empty",
		" \n":                            "is empty",
		"one\ntwo":                       "more than one line",
		strings.Repeat("x", maxSecret+1): "larger than",
	} {
		require.NoError(t, os.WriteFile(room.Path("secret"), []byte(text), 0o600))
		_, err := room.Secret()
		require.ErrorContains(t, err, want)
		kept, err := os.ReadFile(room.Path("secret"))
		require.NoError(t, err)
		require.Equal(t, text, string(kept))
	}
	require.NoError(t, os.WriteFile(room.Path("secret"), []byte(" mine \n"), 0o600))
	secret, err := room.Secret()
	require.NoError(t, err)
	require.Equal(t, "mine", secret)
}

func TestRunnerID(t *testing.T) {
	for secret, want := range map[string]string{
		"bind-token":    "runner_token_56a71354985f77c16b45bc3b7da1abde",
		"tok-one":       "runner_token_7ffc3a9bedf0a56a45eaa57bfcf33ac6",
		" uA6Zz-_x \n":  "runner_token_99db804552f60f376a7fcc3abc72725a",
		"probe-token-1": "runner_token_2c8bebce0643bac2306d4499159cdb44",
	} {
		id, err := RunnerID(secret)
		require.NoError(t, err)
		require.Equal(t, want, id)
	}
	_, err := RunnerID(" ")
	require.ErrorContains(t, err, "empty")
}
