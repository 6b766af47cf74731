// Package journal keeps the runner's durable state in one SQLite file.
//
// It is an append-only list of records: Commit adds a batch, all or none, and
// returns when the disk has it; Load gives everything back in order; Replace
// puts a checkpoint in the place of all that came before. What a record means
// is none of its business: it stores wire.Record as JSON beside a sequence
// number.
//
// The sequence numbers are explicit and only an acknowledged batch moves them
// on. That is what makes a repeat safe: a batch whose commit failed, and may
// have landed all the same, is written again under the same numbers in the
// place of whatever is there (commit.go).
//
// One process has one connection to the file. The runner's state directory
// has a lock against a second process; this package relies on it.
package journal
