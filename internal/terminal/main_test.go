package terminal

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envHost); dir != "" {
		hostTerminals(dir)
	}
	goleak.VerifyTestMain(m)
}
