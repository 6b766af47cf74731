// Package stdio is the harness adapter for any program that talks in lines of
// JSON: messages on its standard input, events on its standard output
// (harness.md 2.3 and 2.4, without HTTP). docs/harness-stdio.md is the contract
// as the author of such a program reads it.
//
// A Run is one turn: it says the message to the session's process, which
// package keep has kept or starts, and listens until the terminal response.
package stdio
