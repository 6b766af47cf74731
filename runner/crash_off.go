//go:build !crashpoints

package runner

import "github.com/outrunner/outrunner/runner/wire"

// Crash points exist in test builds only (see crash_on.go).

func crashAfterRecord(wire.Record) {}

func crashAt(string) {}

// CrashAt lets adapters name points of their own; it does nothing.
func CrashAt(string) {}
