package house

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// everything allows a room all others.
const everything = "*"

// rooms says what each room may import of ours besides its own folders. The
// longest matching name is a package's room.
var rooms = map[string][]string{
	"tunnel":       {},
	"runner/wire":  {},
	"catchup/plan": {"runner/wire"},
	"catchup":      {"catchup/plan", "runner/wire"},
	"runner/core":  {"runner/wire", "catchup/plan"},
	"runner":       {"runner/core", "catchup", "runner/wire"},

	"internal/config":  {},
	"internal/observe": {},
	"internal/client":  {},
	"internal/mcp":     {},
	"internal/web":     {},

	"internal/harness":   {"runner/wire"},
	"internal/journal":   {"runner/wire"},
	"internal/serverapi": {"runner/wire"},
	"internal/summary":   {"runner/wire"},
	"internal/terminal":  {"runner/wire"},
	"internal/workspace": {"runner/wire"},
	"internal/agentspec": {"runner/wire"},

	"internal/server": {"tunnel", "runner/wire", "internal/agentspec", "internal/web"},

	"cmd/outrunner": {everything},
	"test":          {everything},
}

// deterministic rooms decide; what they would learn from these packages must
// reach them as a value. Their tests are free.
var deterministic = []string{"runner/core", "catchup/plan"}

var outside = []string{"time", "sync", "context", "net", "os", "math/rand", "crypto/rand", "syscall", "runtime", "testing"}

func room(pkg string) string {
	best := ""
	for name := range rooms {
		if (pkg == name || strings.HasPrefix(pkg, name+"/")) && len(name) > len(best) {
			best = name
		}
	}
	return best
}

// mayImport reports whether a package may import another, both named from the
// top of the repository.
func mayImport(from, to string) bool {
	here, there := room(from), room(to)
	if here == there {
		return true
	}
	for _, allowed := range rooms[here] {
		if allowed == everything || allowed == there {
			return true
		}
	}
	return false
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	for _, f := range source(t) {
		if room(f.dir()) == "" {
			t.Errorf("%s: the package has no room: give it one in test/house/imports_test.go", f.name)
			continue
		}
		for _, imported := range f.imports(t) {
			ours, ok := strings.CutPrefix(imported, module+"/")
			if ok && !mayImport(f.dir(), ours) {
				t.Errorf("%s imports %s: %s may import only %q of ours", f.name, ours, room(f.dir()), rooms[room(f.dir())])
			}
		}
	}
}

func TestTheHeartIsDeterministic(t *testing.T) {
	for _, f := range source(t) {
		for _, pure := range deterministic {
			if room(f.dir()) != pure || f.test {
				continue
			}
			for _, imported := range f.imports(t) {
				for _, bad := range outside {
					if imported == bad || strings.HasPrefix(imported, bad+"/") {
						t.Errorf("%s imports %s: %s has no clock, lock, chance or outside world", f.name, imported, pure)
					}
				}
			}
		}
	}
}

func TestTheRulesThemselves(t *testing.T) {
	require.Equal(t, "runner/core", room("runner/core"))
	require.Equal(t, "internal/server", room("internal/server/store"))
	require.Equal(t, "runner", room("runner"))
	require.Empty(t, room("internal/unknown"))
	require.Empty(t, room("tunnels"))
	require.True(t, mayImport("internal/server/store", "internal/server"))
	require.True(t, mayImport("catchup", "catchup/plan"))
	require.False(t, mayImport("runner", "catchup/plan"))
	require.False(t, mayImport("runner", "internal/journal"))
	require.False(t, mayImport("tunnel", "runner/wire"))
	require.False(t, mayImport("internal/journal", "internal/config"))
	require.True(t, mayImport("cmd/outrunner", "internal/journal"))
}
