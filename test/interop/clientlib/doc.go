//go:build interop

// Package clientlib plays every public call of the published client library on
// both servers: calls.py makes them, compare.py compares what was answered.
package clientlib
