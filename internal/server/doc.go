// Package server is the embedded server: it keeps sessions and items, accepts
// the tunnels of runners, and lets people and programs talk to both over HTTP.
// It speaks a subset of the Omnigent server's API, same paths and same JSON.
//
// The truth is in the database (package store). A change and what it publishes
// are one transaction; the hub only passes committed events on to the viewers
// of a session, so a viewer that lost its stream goes on from a number.
//
// A user's message takes this way: messages.go stores it with a pending mark
// and answers 202; a line (line.go), one per session of a connected runner,
// forwards it through the tunnel and takes the mark away when the runner has
// accepted it. The same line reads the session's stream from the runner, and
// relay.go turns what comes into stored items, status and events.
//
// A session may have a parent: then it is a sub-agent of the same agent, goes
// where its parent's runner is, and its task (task.go) is what its parent waits
// for. When a runner comes back, restore.go tells it of the sessions that were
// cut off; the tools of a session's program are called through mcp.go.
//
// What a message names besides text, files, is on disk beside the database
// (files.go, blobs.go); what a turn asks a human is a row until it is answered,
// in the session that asks and in all above it (elicitations.go). Events leave in
// the full form of the API (eventfields.go), and what is ours alone only goes to
// those who ask for it (extras.go).
//
// Everything that listens for requests passes safety.go and authn.go first: an
// agent that runs commands behind a loopback port is remote code execution for
// every web page unless we refuse.
package server
