package core

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A seed script would be worth nothing if it passed without the rule that it is
// about. So each is played again with the rule taken out of what the core is
// told: the same events, but a snapshot that lacks the name, or an inbox that
// nobody ever named, or that is always there, or a reading that was not kept.
// Each must end as the rule forbids. (S4 is S1 after a request that the core
// never sees; its control is beside it, in test/conformance/subagents.)
func TestSeedScriptsNoticeAMissingRule(t *testing.T) {
	nameless := func(line string) string {
		if strings.HasPrefix(line, "< snapshot") || strings.HasPrefix(line, "< scan") {
			return regexp.MustCompile(` sub=\S+`).ReplaceAllString(line, "")
		}
		return line
	}
	without := func(given string) func(string) string {
		return func(line string) string {
			if line == given {
				return "//"
			}
			return line
		}
	}
	before := func(at, given string) func(string) string {
		return func(line string) string {
			if strings.HasPrefix(line, at) {
				return given + "\n" + line
			}
			return line
		}
	}
	for _, control := range []struct {
		seed    string
		rule    func(line string) string // what takes the rule out
		has     string                   // in the script, and not without the rule
		becomes string                   // the other way round
	}{
		{"identity.txt/S1:", nameless, "acp:shell agent=worker over [u1=", "acp:chat agent=lead over [u1="},
		{"identity.txt/S2:", nameless, "acp:chat agent=worker over [u1=", "acp:shell agent=lead over [u1="},
		{"identity.txt/S3:", nameless, "acp:chat agent=worker over [u1=", "acp:shell agent=lead over [u1="},
		{"delivery.txt/S5:", without("given inbox P"), "record result P", "reply 1 503"},
		{"delivery.txt/S6:", without("given inbox P"), "record result P", "reply 1 503"},
		{"delivery.txt/S7:", without("given inbox P"), "record result P", "reply 1 503"},
		{"delivery.txt/S8,", before("> status", "given inbox P"), "reply 1 503", "record result P"},
		{"delivery.txt/S9:", before("restart", "given work C parent=P id=w1 agent=ag title=ti"), "reply 3 204", "record result P #1 w1 C"},
	} {
		t.Run(control.seed, func(t *testing.T) {
			sc := seed(t, control.seed)
			var told strings.Builder
			for _, line := range strings.Split(strings.TrimSuffix(sc.text, "\n"), "\n") {
				if !strings.HasPrefix(line, "  ") {
					told.WriteString(control.rule(line) + "\n")
				}
			}
			told.WriteString("< snapshot P agent=a1 unasked\n") // whoever waits for it may go on
			got := scenario{name: sc.name, text: told.String()}.play(t)
			require.Contains(t, sc.text, control.has)
			require.NotContains(t, sc.text, control.becomes)
			require.Contains(t, got, control.becomes)
			if !strings.HasPrefix(control.seed, "delivery.txt/S9:") { // the edge is acknowledged either way
				require.NotContains(t, got, control.has)
			}
		})
	}
}

// seed finds a script by its file and the beginning of its name.
func seed(t *testing.T, name string) scenario {
	t.Helper()
	file, begin, _ := strings.Cut(name, "/")
	raw, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	for _, sc := range scenarios(string(raw)) {
		if strings.HasPrefix(sc.name, begin) {
			return sc
		}
	}
	require.FailNow(t, "no script", name)
	return scenario{}
}
