// Package terminals runs the built runner behind a fake of the upstream server
// (test/testkit/fakeserver) with a real tmux, and holds it to what the server
// and its web page expect of terminals: the resources, the viewers' channel and
// its close codes, the events, and that a terminal outlives tunnel and runner.
package terminals
