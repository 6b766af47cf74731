// Package stdio is the harness adapter for any program that talks in lines of
// JSON: messages on its standard input, events on its standard output
// (harness.md 2.3 and 2.4, without HTTP). docs/harness-stdio.md is the contract
// as the author of such a program reads it.
//
// A Pool has one process per session and keeps it between turns. A Run is one
// turn: it takes the session's process, or starts another when that has ended
// or no longer fits, says the message, and listens until the terminal response.
// A process belongs to its own goroutines (process.go), which always read, so
// that it never blocks while nobody has a turn; what comes in a turn is passed
// to that turn from the one goroutine that reads, in order, so a slow reader
// slows the program down.
//
// The lines that go in are written by one goroutine from a bounded queue:
// nobody ever waits for a program to read. Standard error goes to the log.
package stdio
