// Package catchup reads from the server what a runner missed: for each session
// its snapshot, which says whose harness it is, and the items beyond the
// runner's cursor. It decides nothing; what it finds goes to a merge function,
// and catchup/plan, behind that, decides.
//
// A Scanner lives as long as one connection. Sessions are added as they become
// known; a few workers read them one page at a time and put a session with more
// pages back at the end of the line, so that a session with thousands of new
// items does not starve the rest. A session that fails is reported as failed and
// hurts no other. When the line is empty the scanner tells what it did, once.
package catchup
