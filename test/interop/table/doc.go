//go:build interop

// Command table prints the results of the interop suite: a row per flow, a
// column per pairing of programs.
package main
