package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"
)

// asBefore ends what a program may have switched on in a terminal: modes of the
// keyboard and the mouse, the alternate screen, colours, a hidden cursor.
const asBefore = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?2026l" +
	"\x1b[=0u\x1b[>4;0m\x1b>\x1b[?1l\x1b[?1049l\x1b[r\x1b[4l\x1b[?6l\x1b[?7h\x1b(B\x0f\x1b[0 q\x1b[?25h\x1b[0m"

// console is the terminal that this program runs in.
type console struct {
	in, out *os.File

	mu  sync.Mutex
	was *term.State // nil while it is as it was
	vt  func()      // takes back what raw did to the output
}

// openConsole finds the console behind the standard streams.
func openConsole(in io.Reader, out io.Writer) (*console, error) {
	i, ok := in.(*os.File)
	o, also := out.(*os.File)
	if !ok || !also || !term.IsTerminal(int(i.Fd())) || !term.IsTerminal(int(o.Fd())) {
		return nil, errors.New("attach needs a terminal as its input and output")
	}
	return &console{in: i, out: o}, nil
}

// raw makes every key go to the program.
func (c *console) raw() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, err := term.MakeRaw(int(c.in.Fd()))
	if err != nil {
		return fmt.Errorf("taking over the keyboard: %w", err)
	}
	if c.was == nil {
		c.was = was
	}
	if c.vt == nil {
		c.vt = escapes(c.out)
	}
	return nil
}

// restore makes the console what it was before raw. It may be called twice.
func (c *console) restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.was == nil {
		return
	}
	_, _ = io.WriteString(c.out, asBefore+"\r\n") // as far as it is there
	_ = term.Restore(int(c.in.Fd()), c.was)
	c.vt()
	c.was, c.vt = nil, nil
}

// panicking restores the console before a panic ends the program.
func (c *console) panicking() {
	if v := recover(); v != nil {
		c.restore()
		panic(v)
	}
}

// clear makes the screen one that nothing was written to.
func (c *console) clear() { _, _ = io.WriteString(c.out, asBefore+"\x1b[H\x1b[2J") }

// size is the console's, or what a terminal has that knows none.
func (c *console) size() (cols, rows int) {
	cols, rows, err := term.GetSize(int(c.out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return cols, rows
}

// keyboard reads keys until it is stopped.
type keyboard struct{ cancelreader.CancelReader }

func newKeyboard(in *os.File) (keyboard, error) {
	r, err := cancelreader.NewReader(in)
	if err != nil {
		return keyboard{}, fmt.Errorf("reading the keyboard: %w", err)
	}
	return keyboard{r}, nil
}

// stop ends a Read that waits.
func (k keyboard) stop() { k.Cancel() }
