package acp

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/outrunner/outrunner/internal/harness/guard"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "guard":
			os.Exit(guard.Main(os.Args[2:]))
		case "agent":
			os.Exit(scriptedAgent(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}
