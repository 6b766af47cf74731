// Package answers runs the built runner against servers that are older than the
// one it was made for, newer, or broken: whatever they answer, it goes on, and
// says what was wrong.
package answers
