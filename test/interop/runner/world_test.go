//go:build interop

package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outrunner/outrunner/test/interop/peer"
)

// turnLimit is how long a turn of these tests may take to its end, with every
// fault in it.
const turnLimit = 90 * time.Second

// shell is an agent that runs each message as a command.
var shell = peer.Agent("shell", "acp:shell")

// flow is one story that plays on a server of either kind.
type flow struct {
	name string
	play func(*testing.T, *peer.Server, *peer.Notes)
}

// What one server of each kind bears at once. The long ones come first.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	flows := slices.Concat(outages, children, controls, messages, crashes())
	for _, kind := range []peer.Kind{peer.Theirs, peer.Ours} {
		t.Run(string(kind)+" server", func(t *testing.T) {
			t.Parallel()
			s := peer.NewServer(t, kind)
			for _, f := range flows {
				peer.Noted(t, peer.RunnerOn(kind), f.name, func(t *testing.T, n *peer.Notes) { f.play(t, s.For(t), n) })
			}
			if kind == peer.Theirs {
				peer.Noted(t, peer.RunnerOn(kind), "response policies and external_conversation_item", func(t *testing.T, n *peer.Notes) {
					answerPolicies(t, s.For(t), n)
				})
			}
		})
	}
}

// What takes the server away from all others.
func TestRestarts(t *testing.T) { oneByOne(t, restarts) }

// What keeps a server busy.
func TestManySessions(t *testing.T) { oneByOne(t, crowds) }

// oneByOne plays the flows one after the other, on a server of each kind that
// nobody else uses.
func oneByOne(t *testing.T, flows []flow) {
	t.Parallel()
	for _, kind := range []peer.Kind{peer.Theirs, peer.Ours} {
		t.Run(string(kind)+" server", func(t *testing.T) {
			t.Parallel()
			s := peer.NewServer(t, kind)
			for _, f := range flows {
				peer.Alone(t, peer.RunnerOn(kind), f.name, func(t *testing.T, n *peer.Notes) { f.play(t, s.For(t), n) })
			}
		})
	}
}

// counting is a command that prints so many lines with a pause after each, and
// what it prints.
func counting(lines int, pause time.Duration) (command, printed string) {
	var text strings.Builder
	for n := range lines {
		fmt.Fprintf(&text, "line %d\n", n+1)
	}
	return fmt.Sprintf("for i in $(seq 1 %d); do echo line $i; sleep %g; done", lines, pause.Seconds()), text.String()
}
