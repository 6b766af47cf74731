//go:build realtime

package tunnel

import (
	"testing"
	"time"
)

// TestPeerThatStopsReadingForReal takes its time: go test -tags realtime -run
// ForReal ./tunnel. It would notice a limit that is a constant somewhere below
// us and does not shrink with Timing.
func TestPeerThatStopsReadingForReal(t *testing.T) {
	stall(t, Timing{}.withDefaults(), 80*time.Second)
}
