package agentspec

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// entry is one member of a bundle under test.
type entry struct {
	name, content string
	typeflag      byte
	link          string
	mode          int64
}

func bundle(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		if e.typeflag == 0 {
			e.typeflag = tar.TypeReg
		}
		if e.mode == 0 {
			e.mode = 0o644
		}
		if e.typeflag == tar.TypeXGlobalHeader {
			require.NoError(t, archive.WriteHeader(&tar.Header{Typeflag: e.typeflag, PAXRecords: map[string]string{"comment": e.content}}))
			continue
		}
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.typeflag, Linkname: e.link, Size: int64(len(e.content)), Mode: e.mode}))
		_, err := io.WriteString(archive, e.content)
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zip.Close())
	return buf.Bytes()
}

const helper = "name: helper\nexecutor: {harness: claude-sdk}\n"

func TestBundleIsDeterministicAndOpens(t *testing.T) {
	a, err := Bundle([]byte(helper))
	require.NoError(t, err)
	b, err := Bundle([]byte(helper))
	require.NoError(t, err)
	require.Equal(t, a, b)
	text, err := Open(bytes.NewReader(a))
	require.NoError(t, err)
	require.Equal(t, helper, string(text))
}

func TestBundleRefusesWhatNoRunnerWouldRead(t *testing.T) {
	_, err := Bundle([]byte("prompt: x"))
	require.ErrorIs(t, err, wire.ErrRejected)
}

func TestOpenTakesOneAgentFileOnly(t *testing.T) {
	text, err := Open(bytes.NewReader(bundle(t, entry{name: "./", typeflag: tar.TypeDir, mode: 0o755}, entry{name: "./agent.yml", content: helper})))
	require.NoError(t, err)
	require.Equal(t, helper, string(text))

	for _, c := range []struct {
		want    string
		entries []entry
	}{
		{"no config.yaml", nil},
		{"more than one file", []entry{{name: "config.yaml", content: helper}, {name: "AGENTS.md"}}},
		{`has "notes.txt"`, []entry{{name: "notes.txt"}}},
		{`has "a/config.yaml"`, []entry{{name: "a/config.yaml", content: helper}}},
		{"larger than", []entry{{name: "config.yaml", content: "name: a\nprompt: " + strings.Repeat("x", maxYAML)}}},
	} {
		_, err := Open(bytes.NewReader(bundle(t, c.entries...)))
		require.ErrorIs(t, err, wire.ErrRejected)
		require.ErrorContains(t, err, c.want)
	}
}

func TestExtractBuildsTheTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agent")
	spec, err := Extract(bytes.NewReader(bundle(t,
		entry{content: "a git archive has one", typeflag: tar.TypeXGlobalHeader},
		entry{name: "config.yaml", content: "name: lead\n"},
		entry{name: "agents/b/config.yaml", content: "name: beta\nexecutor: {harness: codex}"},
		entry{name: "agents/a/config.yaml", content: "prompt: named by its folder"},
		entry{name: "agents/a/agents/deep/config.yaml", content: "name: deep"},
		entry{name: "agents/README.md"},
		entry{name: "agents/assets/picture.txt"},
		entry{name: "tools/run.sh", content: "#!/bin/sh", mode: 0o755},
	)), dir)
	require.NoError(t, err)
	require.Equal(t, &wire.Spec{Name: "lead", Harness: "omnigent", Dir: dir, Agents: []*wire.Spec{
		{Name: "a", Prompt: "named by its folder", Harness: "omnigent", Dir: filepath.Join(dir, "agents", "a"), Agents: []*wire.Spec{
			{Name: "deep", Harness: "omnigent", Dir: filepath.Join(dir, "agents", "a", "agents", "deep")},
		}},
		{Name: "beta", Harness: "codex", Dir: filepath.Join(dir, "agents", "b")},
	}}, spec)
	require.FileExists(t, filepath.Join(dir, "tools", "run.sh"))
	require.Equal(t, []string{"agent"}, names(t, filepath.Dir(dir)))
}

func TestExtractRefusesAndLeavesNothing(t *testing.T) {
	many := make([]entry, maxBundleEntries+1)
	for i := range many {
		many[i] = entry{name: "d", typeflag: tar.TypeDir, mode: 0o755}
	}
	deep := "config.yaml"
	nested := []entry{{name: deep, content: "name: n0"}}
	for range maxDepth + 1 {
		deep = "agents/x/" + deep
		nested = append(nested, entry{name: deep, content: "name: n" + deep[len(deep)-1:] + strings.Repeat("x", len(deep)/9)})
	}
	for want, entries := range map[string][]entry{
		"leads outside":             {{name: "../config.yaml", content: helper}},
		"leads outside of it":       {{name: "/config.yaml", content: helper}},
		`"a\\b", which leads`:       {{name: `a\b`}},
		`"x/../../y", which leads`:  {{name: "x/../../y"}},
		`"link", which is a link`:   {{name: "link", typeflag: tar.TypeSymlink, link: "/etc"}},
		`"hard", which is a link`:   {{name: "hard", typeflag: tar.TypeLink, link: "config.yaml"}},
		`"fifo", which is a link`:   {{name: "fifo", typeflag: tar.TypeFifo}},
		`"config.yaml" twice`:       {{name: "config.yaml", content: helper}, {name: "./config.yaml", content: helper}},
		`"a" as a file and as a`:    {{name: "a"}, {name: "a/b"}},
		"more than 10000 entries":   many,
		"no config.yaml":            {{name: "AGENTS.md"}},
		"which is the agent?":       {{name: "a.yaml", content: helper}, {name: "b.yml", content: helper}},
		"agents/x/config.yaml: nam": {{name: "config.yaml", content: helper}, {name: "agents/x/config.yaml", content: "name: 'a/b'"}},
		`the same name, "twin"`: {{name: "config.yaml", content: "name: twin"}, {name: "agents/a/config.yaml", content: "name: twin"},
			{name: "agents/b/agents/c/config.yaml", content: "name: twin"}, {name: "agents/b/config.yaml", content: "name: b"}},
		"nest deeper than": nested,
	} {
		parent := t.TempDir()
		_, err := Extract(bytes.NewReader(bundle(t, entries...)), filepath.Join(parent, "agent"))
		require.ErrorIs(t, err, wire.ErrRejected, want)
		require.ErrorContains(t, err, want)
		require.Empty(t, names(t, parent), want)
	}
}

func TestWalkStopsABomb(t *testing.T) {
	const limit = 128 << 10
	visit := func(_ string, _ *tar.Header, content io.Reader) error {
		_, err := io.Copy(io.Discard, content)
		return err
	}
	tail := 3 * 512 // the header, and two empty blocks at the end
	fits := bundle(t, entry{name: "zeros", content: string(make([]byte, limit-tail-1024))})
	require.NoError(t, walkCapped(bytes.NewReader(fits), limit, visit))

	bomb := bundle(t, entry{name: "zeros", content: string(make([]byte, 8*limit))})
	require.Less(t, len(bomb), limit)
	for _, v := range []visitor{visit, func(string, *tar.Header, io.Reader) error { return nil }} {
		err := walkCapped(bytes.NewReader(bomb), limit, v)
		require.ErrorIs(t, err, wire.ErrRejected)
		require.EqualError(t, err, "the bundle unpacks to more than 131072 bytes")
	}
}

func TestABrokenLineIsNotTheBundlesFault(t *testing.T) {
	whole := bundle(t, entry{name: "config.yaml", content: helper}, entry{name: "x", content: strings.Repeat("abc", 10_000)})
	cut := errors.New("connection reset")
	for _, at := range []int{0, 5, len(whole) / 2, len(whole) - 1} {
		parent := t.TempDir()
		_, err := Extract(io.MultiReader(bytes.NewReader(whole[:at]), iotest.ErrReader(cut)), filepath.Join(parent, "agent"))
		require.ErrorIs(t, err, cut)
		require.NotErrorIs(t, err, wire.ErrRejected)
		require.Empty(t, names(t, parent))

		_, err = Extract(bytes.NewReader(whole[:at]), filepath.Join(parent, "agent"))
		require.ErrorIs(t, err, wire.ErrRejected, "a bundle that ends early was sent so")
		require.Empty(t, names(t, parent))
	}
}

func TestANotGzipAnswerIsASentence(t *testing.T) {
	_, err := Open(strings.NewReader("<html>sign in</html>"))
	require.EqualError(t, err, "the bundle is not a gzip tar: gzip: invalid header")
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
