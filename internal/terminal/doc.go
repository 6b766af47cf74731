// Package terminal runs programs in terminals that outlive the runner, and
// lets any number of viewers look at and type into them.
//
// A terminal is a tmux server of its own on a private socket. The runner holds
// one control client to it for as long as both live: it starts the server, so
// that it sees the first byte, and all that the runner wants of tmux goes
// through it. One goroutine reads it and never waits for anybody: what the
// program prints goes into a model of the screen and into the bounded queue of
// each viewer. A viewer that joins, or that fell behind, is painted the model
// and then follows the stream; both happen under one lock, so nothing is
// missing and nothing comes twice. What is typed, by whomever, goes through one
// queue to the program, and one place decides whose size the terminal has.
//
// A runner that ends leaves its terminals alone. The next one finds their
// folders, takes those that nobody holds, and paints its models from what tmux
// still knows. Where there is no tmux, a PTY of our own does the same but for
// that: the program ends with the runner.
package terminal
