// Package testkit starts the built program as its users do, and breaks what is
// around it.
//
// Binary builds the program once per test process, with its crash points.
// Server and Runner are one process each, on a state directory of its own,
// that can be killed and started again; Process is any run of the program, with
// what it printed and when. API asks a server what it holds, without any of our
// client code in between. Proxy is a line that can be cut, refused or stalled.
// Leftovers finds the processes that a runner left behind.
//
// Everything ends with the test that made it, and by process id. What the
// processes logged is shown when the test fails; a data race or a panic in them
// fails it.
package testkit
