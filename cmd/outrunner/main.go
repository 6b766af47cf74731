package main

import (
	"context"
	"fmt"
	"os"

	"github.com/outrunner/outrunner/internal/harness/guard"
)

func main() {
	// The guard comes before everything else: it is started for each turn, and
	// needs no configuration.
	if len(os.Args) > 1 && os.Args[1] == "guard" {
		os.Exit(guard.Main(os.Args[2:]))
	}
	os.Exit(run(context.Background(), os.Args[1:], &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		lookup: os.LookupEnv, unset: os.Unsetenv,
	}))
}

// run is the program without its process.
func run(ctx context.Context, args []string, a *app) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if line := a.explain(advised(err)); line != "" {
		_, _ = fmt.Fprintln(a.err, "error: "+line) // where else
	}
	return code(err)
}
