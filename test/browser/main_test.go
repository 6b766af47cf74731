package browser

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/outrunner/outrunner/test/testkit"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(within{m}, goleak.Cleanup(func(code int) {
		if err := testkit.RemoveBinary(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}))
}

// within runs the tests while there is a Chromium.
type within struct{ m *testing.M }

// Run implements goleak.TestingM.
func (w within) Run() int {
	end, err := startChromium()
	if err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		return 1
	}
	code := w.m.Run()
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, "browser: ending Chromium:", err)
		return max(code, 1)
	}
	return code
}
