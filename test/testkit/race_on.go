//go:build race

package testkit

// raced: the tests run with the race detector, so the program does too.
const raced = true
