// Package plan decides, and does nothing else: given what the journal says
// about a session, what the server shows of it and what is alive here, it tells
// what to start, to settle and to re-assert.
//
// It is one pure function, Reconcile, whose rows read like the table in
// the design (section 6, A), and one rule of authority, Authority (table B),
// which says whether a user's item is work that may be run or only history. The
// core calls it whenever a piece of what it knows has settled; calling it twice
// on the same inputs decides the same, and after its steps were applied it
// decides only to re-assert. That is what makes scanning again harmless.
package plan
