//go:build linux

package chaos

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// refusedWithin is how soon a start that cannot work must have said so.
const refusedWithin = 10 * time.Second

// logged is a line of the log.
var logged = regexp.MustCompile(`^\d\d:\d\d:\d\d (INF|WRN) `)

// What a user got wrong is told in one line, with an exit code.
func TestWhatCannotStartSaysWhyInOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	html := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = rw.Write([]byte("<!doctype html><html><body>hello</body></html>")) // the reader may have seen enough
	}))
	t.Cleanup(html.Close)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	aFile := file("state", "not a directory")
	unknownKey := file("config.yaml", "log_level: info\nlisten_on: 127.0.0.1:1\n")
	badAdapter := file("config.yaml", "harnesses:\n  acp:mine: {adapter: telepathy, command: [x]}\n")
	broken := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(broken, "runner"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(broken, "runner", "journal.db"), []byte(strings.Repeat("not a database ", 500)), 0o600))
	pid := strconv.Itoa(w.runner.Process.Pid())
	nobody := testkit.FreeAddress(t)

	for name, c := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"busy port, up":           {[]string{"up", "--listen", w.Address}, 1, []string{w.Address, "in use", "--listen"}},
		"busy port, server":       {[]string{"server", "--listen", w.Address}, 1, []string{w.Address, "in use", "--listen"}},
		"no port":                 {[]string{"up", "--listen", "nowhere"}, 2, []string{"nowhere", "host:port"}},
		"state is a file":         {[]string{"up", "--state", aFile}, 1, []string{aFile, "--state"}},
		"state cannot be written": {[]string{"run", "--state", "/proc/outrunner"}, 1, []string{"/proc/outrunner", "--state"}},
		"database cannot be kept": {[]string{"server", "--listen", nobody, "--db", "/dev/full"}, 1, []string{"/dev/full"}},
		"journal is broken":       {[]string{"run", "--server", w.URL, "--state", broken}, 1, []string{"journal.db"}},
		"second runner":           {[]string{"run", "--server", w.URL, "--state", w.runner.State}, 1, []string{w.runner.State, pid, "--state"}},
		"second server":           {[]string{"server", "--listen", nobody, "--state", w.State}, 1, []string{w.State, "--state"}},
		"up beside a runner":      {[]string{"up", "--listen", nobody, "--state", w.runner.State}, 1, []string{w.runner.State, pid, "--state"}},
		"bad URL, run":            {[]string{"run", "--server", "localhost:7171"}, 2, []string{"localhost:7171", "http"}},
		"bad URL, send":           {[]string{"send", "--server", "ftp://localhost", "hello"}, 2, []string{"ftp://localhost", "http"}},
		"unknown config key":      {[]string{"up", "--config", unknownKey}, 2, []string{unknownKey, "line 2", "listen_on"}},
		"config is missing":       {[]string{"up", "--config", aFile + ".yaml"}, 2, []string{aFile + ".yaml"}},
		"unknown adapter":         {[]string{"run", "--config", badAdapter}, 2, []string{"acp:mine", "telepathy", "exec"}},
		"unknown flag":            {[]string{"up", "--port", "1"}, 2, []string{"--port"}},
		"unknown command":         {[]string{"dance"}, 2, []string{"dance"}},
		"workspace is missing":    {[]string{"up", "--workspace", aFile + "/none"}, 2, []string{"workspace"}},
		"id of another":           {[]string{"run", "--id", "runner_token_0"}, 2, []string{"runner_token_0", "--token-file"}},
		"not our server, run":     {[]string{"run", "--server", html.URL}, 1, []string{strings.TrimPrefix(html.URL, "http://"), "text/html"}},
		"not our server, send":    {[]string{"send", "--server", html.URL, "hello"}, 1, []string{html.URL, "HTML"}},
		"not our server, runners": {[]string{"runners", "--server", html.URL}, 1, []string{html.URL, "HTML"}},
		"no server, send":         {[]string{"send", "--server", "http://" + nobody, "hello"}, 3, []string{nobody}},
		"no such agent":           {[]string{"send", "--server", w.URL, "--agent", "nobody", "hello"}, 1, []string{"nobody", "shell"}},
		"nothing to send":         {[]string{"send", "--server", w.URL}, 2, []string{"nothing to send"}},
		"no such session":         {[]string{"sessions", "show", "0123456789abcdef0123456789abcdef", "--server", w.URL}, 1, []string{"0123456789abcdef0123456789abcdef"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if !strings.Contains(strings.Join(args, " "), "--state") {
				args = append(args, "--state", filepath.Join(t.TempDir(), "state"))
			}
			p := testkit.Run(t, testkit.Options{}, args...)
			require.Equal(t, c.code, p.Wait(refusedWithin))
			require.Empty(t, p.Stdout.String())
			said := testkit.Lines(p.Stderr.String())
			for logged.MatchString(said[0]) {
				said = said[1:] // a runner that has started tells what it tries
			}
			require.Len(t, said, 1, p.Stderr.String())
			require.Regexp(t, "^error: ", said[0])
			for _, part := range c.says {
				require.Contains(t, said[0], part)
			}
		})
	}
	require.True(t, w.Online(), "nobody was disturbed")
}
