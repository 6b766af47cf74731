package webterminal

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// Bytes that are no text, or no text yet, come through page, server, tunnel,
// runner and tmux as they are: to the program and from it, one by one and at once.
func TestEveryByteComesThrough(t *testing.T) {
	t.Parallel()
	w, _, p := begun(t)
	const strange = "\xe9\x6f\xbc\xa2 caf\xe9 \xf0\x9f\x99\x82 e\xcc\x81 \xe6\xbc\xa2 \xff\xfe \x80"
	all := strange
	for b := range 256 {
		all += string([]byte{byte(b)})
	}
	p.types(fmt.Sprintf("stty raw -echo; echo ready; head -c %d >typed; stty sane; echo typed\r", len(strange)+len(all)))
	p.shows("\nready")
	for i := range len(strange) {
		p.types(strange[i : i+1])
	}
	p.types(all)
	p.shows("typed\n$")
	got, err := os.ReadFile(w.runner.Path("typed"))
	require.NoError(t, err)
	require.Equal(t, strange+all, string(got))

	// A terminal acts on controls, so that what a program prints is without them.
	const printed = "<<" + strange + ">>"
	script := "stty -opost\n"
	for i := range len(printed) {
		script += fmt.Sprintf("printf '\\%03o'\n", printed[i])
	}
	script += fmt.Sprintf("printf '%%s' '%s'\nstty opost\n", printed)
	require.NoError(t, os.WriteFile(w.runner.Path("print.sh"), []byte(script), 0o600))
	p.types("sh print.sh; echo printed\r")
	p.shows("printed\n$")
	require.True(t, bytes.Contains(p.got(), []byte(printed+printed)), "%q", p.got())
}

// envLoad makes the test of a flood longer: OUTRUNNER_TEST_LOAD=60s.
const envLoad = "OUTRUNNER_TEST_LOAD"

// A flood with a page that reads 10 KB/s: memory stays flat, the tunnel holds,
// another terminal's echo comes, and the last screen is right.
func TestAFloodBeforeASlowPage(t *testing.T) {
	t.Parallel()
	limit := 10 * time.Second
	if text := os.Getenv(envLoad); text != "" {
		long, err := time.ParseDuration(text)
		require.NoError(t, err)
		limit = long
	}
	w, session, slow := begun(t)
	w.makes(session, "sh", "quiet")
	quiet := w.open(session, "terminal_sh_quiet")
	quiet.shows("$")
	var echoes []time.Duration
	echo := func() {
		began := time.Now()
		quiet.types(fmt.Sprintf("echo $((%d+1000000))\r", len(echoes)))
		quiet.shows(fmt.Sprintf("\n%d\n", len(echoes)+1000000))
		echoes = append(echoes, time.Since(began))
	}
	slow.reads(10 << 10)
	slow.types("yes abcdefghij\r")
	slow.shows("\nabcdefghij")
	programs := map[string]*testkit.Process{"runner": w.runner.Process, "server": w.server.Process}
	before := map[string]int{}
	for began := time.Now(); time.Since(began) < limit; {
		echo()
		if len(echoes) == 20 { // buffers have grown to what they need
			for name, process := range programs {
				before[name] = resident(t, process.Pid())
			}
		}
	}
	require.Len(t, before, len(programs))
	slices.Sort(echoes)
	t.Logf("echo through server and tunnel beside a flood: p50 %v, p99 %v of %d", echoes[len(echoes)/2], echoes[len(echoes)*99/100], len(echoes))
	for name, process := range programs {
		after := resident(t, process.Pid())
		t.Logf("%s: %d -> %d KiB", name, before[name]>>10, after>>10)
		require.Less(t, after, before[name]+40<<20, name)
	}
	require.Less(t, echoes[len(echoes)*99/100], 5*time.Second) // a busy machine; behind the flood it would be never
	slow.types("\x03")
	slow.types("echo all\"over\"\r")
	slow.reads(0)
	slow.shows("allover\n$")
	fresh := w.open(session, shell)
	fresh.shows("allover\n$")
	lastScreen := func(p *page) []string {
		lines := strings.Split(strings.TrimRight(p.text(), "\n"), "\n")
		return lines[max(0, len(lines)-20):]
	}
	testkit.Until(t, testkit.Patience, func() bool { return slices.Equal(lastScreen(slow), lastScreen(fresh)) }, testkit.Is("two pages differ"))
	require.Equal(t, 1, slow.connections(), "it kept its connection")
	require.NotContains(t, w.runner.Process.Stderr.String(), "tunnel is down")
}

// resident is what a process has in memory.
func resident(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}
