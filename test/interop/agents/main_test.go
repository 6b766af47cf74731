//go:build interop

package agents

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/outrunner/outrunner/internal/harness/guard"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guard" {
		os.Exit(guard.Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}
