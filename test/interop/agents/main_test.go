//go:build interop

package agents

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/outrunner/outrunner/internal/harness/guard"
	"github.com/outrunner/outrunner/test/testkit"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guard" {
		os.Exit(guard.Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := testkit.RemoveBinary(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}))
}
