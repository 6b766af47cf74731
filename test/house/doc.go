// Package house holds the tests of the house itself: which room may import
// which, that the heart stays deterministic, that every package says what it is
// for and checks for leaked goroutines, that files stay short.
//
// They read the source of every package, test files included, on every
// platform. A new package fails until it has a place in rooms.
package house
