package testkit

import (
	"strings"
	"testing"
	"time"
)

const (
	// Patience is how long a test waits for what must happen soon, on a machine
	// that is busy with other tests.
	Patience = 60 * time.Second
	// Tick is how often a test looks whether it has happened.
	Tick = 20 * time.Millisecond
	// SlowTick is Tick for what is asked of a server that many tests share.
	SlowTick = 250 * time.Millisecond
)

// Until waits until ok says true, and fails the test with what when that takes
// longer than limit. It asks in the test's own goroutine, so ok may fail the
// test too.
func Until(t testing.TB, limit time.Duration, ok func() bool, what func() string) {
	t.Helper()
	until(t, Tick, limit, ok, what)
}

// UntilSlow is Until that looks less often.
func UntilSlow(t testing.TB, limit time.Duration, ok func() bool, what func() string) {
	t.Helper()
	until(t, SlowTick, limit, ok, what)
}

func until(t testing.TB, every, limit time.Duration, ok func() bool, what func() string) {
	t.Helper()
	over := time.NewTimer(limit)
	defer over.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-over.C:
			if !ok() {
				t.Fatalf("not within %s: %s", limit, what())
			}
			return
		}
	}
}

// Is is a fixed text for Until.
func Is(what string) func() string { return func() string { return what } }

// Hold lets a fault last. It is for the length of an outage and nothing else:
// what a test waits for, it waits for with Until.
func Hold(fault time.Duration) { <-time.After(fault) }

// Lines splits a text into its lines, without their ends.
func Lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
