// Package chaos holds the promises of the design against the built program:
// nothing lost and nothing twice, whatever is killed, cut or stalled; every
// failure a sentence; nothing left behind; nothing that a web page can do.
//
// Each test starts real processes on loopback with state of their own. It looks
// at what the server holds in the end, at a file to which the commands append as
// they start, and at what `send` printed. The tests need bash and /proc, so they
// run on Linux; those that measure time run alone, before the others.
package chaos
