// Package conformance runs the built runner against a server that is told here,
// frame by frame, as the upstream server behaves: it knows nothing of ours, so
// what the runner says and does on the wire is seen as another program sees it.
//
// upstream_test.go is that server. The dialogue is what one session is made of;
// the launcher tests are what the program that starts a runner relies on.
package conformance
