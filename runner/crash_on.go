//go:build crashpoints

package runner

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/outrunner/outrunner/runner/wire"
)

// A build with the tag crashpoints kills itself, as kill -9 would, when it
// passes the point that OUTRUNNER_CRASH_AT names: "opened", or "segment:3" for
// the third time it is passed.

var passed atomic.Int64

func crashAt(point string) {
	name, count, _ := strings.Cut(os.Getenv("OUTRUNNER_CRASH_AT"), ":")
	if name != point {
		return
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		n = 1
	}
	if passed.Add(1) == n {
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
}

// crashAfterRecord passes the points that lie between a record and what
// depends on it.
func crashAfterRecord(r wire.Record) {
	switch r.Kind {
	case wire.RecItem:
		if r.ItemState == wire.ItemQueued {
			crashAt("accepted")
		}
	case wire.RecOpened:
		crashAt("opened")
	case wire.RecOut:
		crashAt("segment")
	case wire.RecStored:
		crashAt("acknowledged")
	case wire.RecEnded:
		crashAt("ended")
	case wire.RecResult:
		crashAt("result")
	case wire.RecDrained:
		crashAt("drained")
	}
}

// CrashAt lets adapters name points of their own ("spawned").
func CrashAt(point string) { crashAt(point) }
