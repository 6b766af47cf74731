package core

import (
	"flag"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The worlds are shared among the mixes, unless the library is told a number.
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(strconv.Itoa((*worlds + len(mixes) - 1) / len(mixes))); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
