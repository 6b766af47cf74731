package core

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// promiseChecks is how many random orders the properties try unless
// -rapid.checks says otherwise; the library's own default is 100.
const promiseChecks = "1000"

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(promiseChecks); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
