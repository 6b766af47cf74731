package webterminal

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/outrunner/outrunner/test/testkit"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := testkit.RemoveBinary(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}))
}
