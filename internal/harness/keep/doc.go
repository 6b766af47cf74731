// Package keep has what the adapters share whose programs live on between
// turns.
//
// A Pool has one Process per session. A Turn takes the session's process, or
// has another started when that has ended or no longer fits, and holds it until
// the turn's end; it watches the clocks, and takes the program down when it must.
// How a program is spoken to is the adapter's own business: its Voice.
//
// A process belongs to its own goroutines (tend.go), which always read, so that
// it never blocks while nobody has a turn; what comes is handed on from the one
// goroutine that reads, in order, so a slow reader slows the program down. What
// goes in is written by one goroutine from a bounded queue: nobody ever waits
// for a program to read. Standard error goes to the log.
package keep
