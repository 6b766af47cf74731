package acp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	s := newStage(t)
	read := func(path, more string) string {
		return s.do(fmt.Sprintf(`request fs/read_text_file {"sessionId":"s","path":%q%s}`, path, more))
	}
	write := func(path, text string) string {
		return s.do(fmt.Sprintf(`request fs/write_text_file {"sessionId":"s","path":%q,"content":%q}`, path, text))
	}
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, s.path("out")))
	require.NoError(t, os.Symlink(secret, s.path("link")))
	require.NoError(t, os.Symlink("f", s.path("inner")))
	s.write("f", "1\n2\n3\n")
	s.write("binary", "\xff")

	require.Equal(t, `got {"content":"1\n2\n3\n"}`, read(s.path("f"), ""))
	require.Equal(t, `got {"content":"1\n2\n3\n"}`, read("inner", ""))
	require.Equal(t, `got {"content":"2\n"}`, read(s.path("f"), `,"line":2,"limit":1`))
	require.Equal(t, `got {"content":""}`, read(s.path("f"), `,"line":9`))
	require.Equal(t, `got {"content":"1\n2\n3\n"}`, read(s.path("f"), `,"line":null,"limit":null`))
	require.Contains(t, read(s.path("none"), ""), `"code":-32002`)
	require.Contains(t, read(s.path("binary"), ""), "no UTF-8 text")
	require.Contains(t, read(s.cfg.Dir, ""), "not a regular file")
	for _, path := range []string{secret, s.path("out/secret"), s.path("link"), "../x", "/etc/passwd"} {
		require.NotContains(t, read(path, ""), "content", path)
		require.Contains(t, write(path, "changed"), `"code":-32603`, path)
	}
	text, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "secret", string(text))

	require.Equal(t, "got {}", write(s.path("a/b/new"), "new"))
	require.Equal(t, "got {}", write(s.path("f"), "short"))
	for path, want := range map[string]string{"a/b/new": "new", "f": "short"} {
		text, err := os.ReadFile(s.path(path))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	s.write("big", strings.Repeat("x", maxFile+1))
	require.Contains(t, read(s.path("big"), ""), "larger than")
	require.Contains(t, s.do(`request fs/write_text_file {"path":"f"}`), "no content")
	require.Contains(t, s.do(`request fs/read_text_file {"path":7}`), `"code":-32602`)
}

// An agent may know the workspace by its real name.
func TestAWorkspaceBehindALink(t *testing.T) {
	s := newStage(t)
	s.write("f", "here")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(s.cfg.Dir, link))
	real := s.cfg.Dir
	s.cfg.Dir = link
	for _, dir := range []string{link, real} {
		require.Contains(t, s.do(fmt.Sprintf(`request fs/read_text_file {"path":%q}`, filepath.Join(dir, "f"))), "here")
	}
}

func TestOtherRequests(t *testing.T) {
	s := newStage(t)
	for _, method := range []string{"terminal/create", "elicitation/create", "mcp/connect", "_ext", "x"} {
		require.Contains(t, s.do("request "+method), `"code":-32601`, method)
	}
	require.Contains(t, s.do(`request session/request_permission 7`), `"code":-32602`)
	require.Contains(t, s.do(`request session/request_permission {"sessionId":"another","options":[]}`), "cancelled")
}
