//go:build interop

// Package agents plays a real coding agent, opencode, through our runner on
// servers of both kinds. Its model is a mock on loopback.
package agents
