package agentspec

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

const roomy = 1 << 20

func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

var lead = map[string]string{
	"config.yaml":               "name: lead\nexecutor: {harness: acp:lead}\n",
	"agents/worker/config.yaml": "name: worker\nexecutor: {harness: acp:worker}\n",
	"agents/worker/notes.md":    "Be brief.",
	"skills/a/SKILL.md":         "x",
}

func TestAFolderIsPackedAndComesBack(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, lead)
	plant(t, dir, map[string]string{".git/config": "not part of it"})
	bundle, err := Pack(dir, roomy)
	require.NoError(t, err)
	digest, err := Digest(dir, roomy)
	require.NoError(t, err)

	out := filepath.Join(t.TempDir(), "agent")
	spec, err := Extract(bytes.NewReader(bundle), out)
	require.NoError(t, err)
	require.Equal(t, "lead", spec.Name)
	require.Equal(t, "acp:worker", spec.Find("worker").Harness)
	require.NoDirExists(t, filepath.Join(out, ".git"))
	same, err := Digest(out, roomy)
	require.NoError(t, err)
	require.Equal(t, digest, same, "the same files are the same agent, wherever they came from")
	again, err := Pack(out, roomy)
	require.NoError(t, err)
	require.Equal(t, bundle, again)
}

func TestADigestNamesTheContent(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, lead)
	digest := func() string {
		t.Helper()
		d, err := Digest(dir, roomy)
		require.NoError(t, err)
		return d
	}
	first := digest()
	notes := filepath.Join(dir, "agents", "worker", "notes.md")
	require.NoError(t, os.Chtimes(notes, time.Unix(1, 0), time.Unix(1, 0)))
	require.Equal(t, first, digest(), "a time is no content")
	seen := map[string]bool{first: true}
	for _, change := range []func() error{
		func() error { return os.WriteFile(notes, []byte("Be long."), 0o600) },
		func() error { return os.Rename(notes, notes+"x") },
		func() error {
			if runtime.GOOS == "windows" { // which has no such bit
				return os.WriteFile(notes+"x", nil, 0o600)
			}
			return os.Chmod(notes+"x", 0o700)
		},
		func() error { return os.Remove(notes + "x") },
	} {
		require.NoError(t, change())
		require.False(t, seen[digest()])
		seen[digest()] = true
	}
}

func TestWhatCannotBePacked(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"config.yaml": "name: a", "big": "0123456789"})
	const size = int64(len("name: a") + len("0123456789"))
	_, err := Pack(dir, size)
	require.NoError(t, err)
	for _, pack := range []func(int64) error{
		func(limit int64) error { _, err := Pack(dir, limit); return err },
		func(limit int64) error { _, err := Digest(dir, limit); return err },
	} {
		require.ErrorIs(t, pack(size-1), wire.ErrRejected)
	}
	if os.Symlink("/etc/passwd", filepath.Join(dir, "link")) == nil {
		_, err = Pack(dir, roomy)
		require.ErrorIs(t, err, wire.ErrRejected)
		require.ErrorContains(t, err, `"link" is a link`)
	}
	_, err = Pack(filepath.Join(dir, "missing"), roomy)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NotErrorIs(t, err, wire.ErrRejected)
}
