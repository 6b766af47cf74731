// Package exec is the harness adapter that runs a command once per message.
//
// The text of the message takes the place of {message} in the command, or goes
// to its standard input; both output streams come back as text in the order
// written; the exit status decides between completed and failed. Nothing is
// kept between two turns.
//
// One Run is one turn. Four things can end it: the program (exit), whoever
// runs the turn (context, emit, Stop), a limit (silence, time, output), the
// death of this process (the guard). The first reason to stop is the one that
// the turn's end tells (outcome.go); the program is gone in all of them before
// Do returns.
package exec
