// Package runner is what stands behind the tunnel: HTTP handlers, the loop
// that drives the deterministic core, the turns in progress, and the session
// streams that the server reads.
//
// A handler turns one request into one event, posts it, and waits for the
// reply; it holds no state. The loop (loop.go) steps package core, makes the
// records of a batch durable, and only then releases its effects. The driver
// carries them out: replies and stream events at once, everything that takes
// time in goroutines that answer with an event. A pump (pump.go) reads one
// turn's program; its text goes past the core to the session's outlet as
// previews, and in closed pieces through the core to the server's store.
//
// The package declares all its ports (ports.go) and imports no adapter. A
// program of one's own can embed it: see the example.
package runner
