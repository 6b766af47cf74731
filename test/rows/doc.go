// Package rows checks that every row of the conformance table is held by a test
// that runs: test/rows.txt names it, or says why there is none.
package rows
