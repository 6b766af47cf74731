package terminal

import (
	"context"

	"github.com/outrunner/outrunner/runner/wire"
)

// A backend carries one terminal's program: tmux, or a PTY of our own. But for
// run, each method is called by one goroutine at a time.
type backend interface {
	// run reads the program until it ends, or until leave. It is called once.
	run(s sink) ending
	// write types bytes as they are. It may return before they have arrived.
	write(ctx context.Context, p []byte) error
	// press presses keys by tmux's names.
	press(ctx context.Context, keys []string) error
	// resize gives the program another size. then is called, maybe by the goroutine
	// of run, between what was printed at the old size and at the new.
	resize(ctx context.Context, cols, rows int, then func()) error
	// start lets a program go on that waits for its first viewer.
	start(ctx context.Context) error
	// alive makes sure that the program runs.
	alive(ctx context.Context) (bool, error)
	// copied reads what was put into a buffer.
	copied(ctx context.Context, name string) ([]byte, error)
	// touched tells how long, in seconds, nobody used the terminal by another way
	// than ours; ok is false when nobody can.
	touched(ctx context.Context) (seconds int64, ok bool)
	// kill ends the program and all that belongs to it.
	kill(ctx context.Context) error
	// leave lets go of the program, which goes on if it can.
	leave()
}

// A sink hears what a program does, in order, from one goroutine.
type sink interface {
	printed(p []byte)
	resized(cols, rows int)
	// replaced says that what was printed so far is not known; the picture
	// paints what is to be seen. It is of no use if it shows what is known already
	// and quiet is set.
	replaced(p picture, quiet bool)
	copied(name string)
	// answer types an answer to what the program asked.
	answer(text string)
	lastLines() string
}

// A picture is a screen as somebody else remembers it.
type picture struct {
	cols, rows int
	paint      []byte // paints an empty screen of that size
}

// ending says why run returned.
type ending struct {
	left bool // the program goes on, but not with us
	exit wire.TerminalExit
}
