//go:build interop

package peer

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pairing says whose programs play together: a column of the table.
type Pairing string

const (
	OurRunnerTheirServer Pairing = "our runner + their server"
	TheirRunnerOurServer Pairing = "their runner + our server"
	TheirClientOurServer Pairing = "their client + our server"
	OursAlone            Pairing = "ours + ours"
)

// RunnerOn is the pairing of our runner with a server of that kind.
func RunnerOn(kind Kind) Pairing {
	if kind == Ours {
		return OursAlone
	}
	return OurRunnerTheirServer
}

// Result is one line of the file that OUTRUNNER_INTEROP_RESULTS names: the
// outcome of a flow.
type Result struct {
	Flow    string  `json:"flow"`
	Pairing Pairing `json:"pairing"`
	OK      bool    `json:"ok"`
	Seconds float64 `json:"seconds"`
	Note    string  `json:"note,omitempty"`
}

// Notes is what a flow may say about itself in the table.
type Notes struct{ text string }

// Say notes a text of a few words.
func (n *Notes) Say(text string) { n.text = text }

// Flow runs a flow beside the others, and notes its outcome for the table.
func Flow(t *testing.T, pairing Pairing, flow string, run func(*testing.T)) {
	Noted(t, pairing, flow, func(t *testing.T, _ *Notes) { run(t) })
}

// Noted is Flow with something to say in the table.
func Noted(t *testing.T, pairing Pairing, flow string, run func(*testing.T, *Notes)) {
	t.Run(flow, func(t *testing.T) {
		t.Parallel()
		noted(t, pairing, flow, run)
	})
}

// Alone is Noted for a flow that no other may disturb: it runs now.
func Alone(t *testing.T, pairing Pairing, flow string, run func(*testing.T, *Notes)) {
	t.Run(flow, func(t *testing.T) { noted(t, pairing, flow, run) })
}

func noted(t *testing.T, pairing Pairing, flow string, run func(*testing.T, *Notes)) {
	begin := time.Now()
	notes := &Notes{}
	// The first cleanup is the last to run: what fails in another counts.
	t.Cleanup(func() {
		require.NoError(t, note(Result{flow, pairing, !t.Failed(), time.Since(begin).Seconds(), notes.text}))
	})
	run(t, notes)
}

// note appends to the file of results; one write is one line, so packages that
// run side by side do not mix theirs.
func note(r Result) error {
	path := os.Getenv("OUTRUNNER_INTEROP_RESULTS")
	if path == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Close()
}
