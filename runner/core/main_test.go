package core

import (
	"flag"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The worlds are shared among the mixes, unless the library is told a number;
	// the same ones in each run, unless it is told a seed.
	unlessTold("rapid.checks", strconv.Itoa((*worlds+len(mixes)-1)/len(mixes)))
	unlessTold("rapid.seed", "1")
	goleak.VerifyTestMain(m)
}

func unlessTold(name, value string) {
	if f := flag.Lookup(name); f.Value.String() == f.DefValue {
		if err := f.Value.Set(value); err != nil {
			panic(err)
		}
	}
}
