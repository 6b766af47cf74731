package guard

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Main is the guard process. The runner starts it as `outrunner guard` through
// Start, and main() calls it first thing. It exits by itself, past os.Exit and
// its hooks: a turn ends when its guard has, and in a binary built with -race
// os.Exit takes a second. The result only serves callers that like to read
// os.Exit(guard.Main(args)).
func Main([]string) int {
	code := serve()
	syscall.Exit(code)
	return code
}

func serve() int {
	// Linux delivers a parent-death signal when the thread that forked ends,
	// so that thread must be one that lives as long as the guard.
	runtime.LockOSThread()
	orders := json.NewDecoder(os.Stdin)
	var first order
	if err := orders.Decode(&first); err != nil || first.Start == nil || len(first.Start.Argv) == 0 {
		fmt.Fprintln(os.Stderr, "outrunner guard is started by the runner, not by hand")
		return 2
	}
	reports := json.NewEncoder(os.Stdout)
	f, pid, err := launch(first.Start)
	if err != nil {
		if err := reports.Encode(report{Failed: notStarted(err)}); err != nil {
			return 1 // the runner is gone, and nothing has been started
		}
		return 0
	}
	// From here on a report that cannot be written is no reason to stop: the
	// runner is gone, so the order pipe has ended too and the ladder runs.
	_ = reports.Encode(report{Started: pid})
	end := descend(f, first.Start, receive(orders))
	_ = reports.Encode(report{End: &end})
	return 0
}

// launch starts the program with its output on our standard error, or with
// streams of its own for one that the runner talks with.
func launch(s *start) (*family, int, error) {
	f, err := adopt()
	if err != nil {
		return nil, 0, err
	}
	argv := make([]string, len(s.Argv))
	for i, a := range s.Argv {
		argv[i] = string(a)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, 0, err
	}
	stdin, feed, err := input(s)
	if err != nil {
		return nil, 0, err
	}
	defer stdin.Close() //nolint:errcheck // the child has its own copy
	stdout := os.Stderr
	if s.Talk != nil {
		stdout = os.NewFile(s.Talk.Out, "out")
		defer stdout.Close() //nolint:errcheck // as above; its end is the program's own doing then
	}
	pid, err := f.start(path, argv, []*os.File{stdin, stdout, os.Stderr})
	if err != nil {
		return nil, 0, err
	}
	if feed != nil {
		// It ends when the program has read all, or has closed its end.
		go func() {
			defer feed.Close()         //nolint:errcheck // nobody is left to tell
			_, _ = feed.Write(s.Stdin) // a program need not read its input
		}()
	}
	return f, pid, nil
}

// input opens what the program reads: the null device, a pipe to fill, or the
// runner's own pipe.
func input(s *start) (stdin, feed *os.File, err error) {
	switch {
	case s.Talk != nil:
		return os.NewFile(s.Talk.In, "in"), nil, nil
	case s.Stdin == nil:
		stdin, err = os.Open(os.DevNull)
		return stdin, nil, err
	}
	return os.Pipe()
}

// receive turns the order pipe into a channel that is closed at its end, which
// means that the runner is dead.
func receive(orders *json.Decoder) <-chan Step {
	steps := make(chan Step)
	go func() {
		defer close(steps)
		for {
			var o order
			if err := orders.Decode(&o); err != nil {
				if err != io.EOF {
					fmt.Fprintln(os.Stderr, "outrunner guard: reading orders:", err)
				}
				return
			}
			steps <- o.Step
		}
	}()
	return steps
}
