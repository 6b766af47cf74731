package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds everything that a test waits for.
const patience = 20 * time.Second

// output is a standard output that can be waited on.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// wait returns the first match of a pattern, once it has come.
func (o *output) wait(t *testing.T, pattern string) []string {
	t.Helper()
	find := regexp.MustCompile(pattern)
	limit := time.After(patience)
	for {
		if m := find.FindStringSubmatch(o.String()); m != nil {
			return m
		}
		select {
		case <-o.changed:
		case <-limit:
			require.FailNow(t, "nothing matches "+pattern, o.String())
		}
	}
}

// command is the program, running in this process.
type command struct {
	out, err *output
	done     chan int
	stop     context.CancelFunc
}

// start runs the program with a clean environment.
func start(t *testing.T, env map[string]string, args ...string) *command {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &command{out: newOutput(), err: newOutput(), done: make(chan int, 1), stop: cancel}
	a := &app{
		in: strings.NewReader(env["stdin"]), out: c.out, err: c.err,
		lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		unset:  func(string) error { return nil },
	}
	go func() { c.done <- run(ctx, args, a) }()
	t.Cleanup(func() { c.end(t) })
	return c
}

// code waits for the end.
func (c *command) code(t *testing.T) int {
	t.Helper()
	select {
	case code := <-c.done:
		c.done <- code
		return code
	case <-time.After(patience):
		require.FailNow(t, "the command does not end", "%s\n%s", c.out, c.err)
		return -1
	}
}

// end asks the command to stop, as a signal would.
func (c *command) end(t *testing.T) int {
	t.Helper()
	c.stop()
	return c.code(t)
}

// call runs a command to its end.
func call(t *testing.T, args ...string) (out, err string, code int) {
	t.Helper()
	c := start(t, nil, args...)
	code = c.code(t)
	return c.out.String(), c.err.String(), code
}

// house is a state directory with a config file that says nothing.
func house(t *testing.T) string {
	t.Helper()
	return t.TempDir()
}

// failing checks that a command ends with one clear line.
func failing(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	_, err, got := call(t, args...)
	require.Equal(t, code, got, "%v: %s", args, err)
	require.Contains(t, err, want, "%v", args)
	require.Equal(t, 1, strings.Count(err, "\n"), "one line: %q", err)
	require.True(t, strings.HasPrefix(err, "error: "), err)
}

func TestUsageIsExitCodeTwo(t *testing.T) {
	state := house(t)
	for want, args := range map[string][]string{
		"unknown command":              {"fly"},
		"unknown flag: --fast":         {"up", "--fast"},
		"accepts 1 arg(s), received 0": {"sessions", "show"},
		"nothing to send":              {"send"},
		"the text is empty":            {"send", " "},
		"the text is not UTF-8":        {"send", "\xff"},
		"--follow needs --session":     {"send", "--follow", "i"},
		"must start with http":         {"send", "--server", "localhost:1", "x"},
		`URL "nowhere" must`:           {"run", "--server", "nowhere"},
		"is not host:port":             {"up", "--listen", "7171"},
		"workspace cannot be used":     {"up", "--workspace", "/does/not/exist"},
		"none of debug, info":          {"agents", "--log-level", "chatty"},
		"no such file":                 {"agents", "--config", "/does/not/exist.yaml"},
	} {
		failing(t, exitUsage, want, append([]string{"--state", state}, args...)...)
	}
}

func TestAnUnknownConfigKeyIsNamed(t *testing.T) {
	state := house(t)
	require.NoError(t, os.WriteFile(state+"/config.yaml", []byte("listen: 127.0.0.1:0\nharneses: {}\n"), 0o600))
	failing(t, exitUsage, `config.yaml, line 2: unknown field "harneses"`, "up", "--state", state)
	require.NoError(t, os.WriteFile(state+"/config.yaml", []byte("harnesses: {a: {adapter: warp, command: [x]}}\n"), 0o600))
	failing(t, exitUsage, `there is no adapter "warp"`, "run", "--state", state)
	require.NoError(t, os.WriteFile(state+"/config.yaml", []byte("state: /elsewhere\n"), 0o600))
	failing(t, exitUsage, "state can only be set in a file that is named with --config", "agents", "--state", state)
}

func TestNoServerIsExitCodeThree(t *testing.T) {
	for _, args := range [][]string{{"send", "x"}, {"agents"}, {"runners"}, {"sessions"}} {
		args = append(args, "--server", "http://127.0.0.1:1", "--state", house(t))
		failing(t, exitUnreachable, "the server cannot be reached at http://127.0.0.1:1", args...)
		failing(t, exitUnreachable, "; start one with outrunner up, or name another with --server", args...)
	}
}

func TestAStateDirectoryThatCannotBeUsed(t *testing.T) {
	file := house(t) + "/file"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, name := range []string{"up", "server", "run"} {
		_, err, code := call(t, name, "--state", file)
		require.NotEqual(t, exitDone, code)
		require.Contains(t, err, file)
		require.Equal(t, 1, strings.Count(err, "\n"), err)
	}
}

func TestVersionAndCompletion(t *testing.T) {
	out, _, code := call(t, "version", "--state", house(t))
	require.Equal(t, exitDone, code)
	require.Regexp(t, `^outrunner \S+\n$`, out)
	out, _, code = call(t, "completion", "bash", "--state", house(t))
	require.Equal(t, exitDone, code)
	require.Contains(t, out, "outrunner")
}

func TestCodes(t *testing.T) {
	require.Equal(t, exitDone, code(nil))
	require.Equal(t, exitFailure, code(fs.ErrNotExist))
	require.Equal(t, exitUsage, code(errors.Join(usage(fs.ErrNotExist))))
	require.NoError(t, usage(nil))
}
