package journal

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("JOURNAL_TEST_WRITER"); path != "" {
		os.Exit(writer(path))
	}
	if path := os.Getenv("JOURNAL_TEST_FILE_LIMIT"); path != "" {
		os.Exit(fileLimit(path))
	}
	goleak.VerifyTestMain(m)
}
