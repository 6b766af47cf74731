// Package runner plays our runner against the published server and, with the
// same flows, against our own. What is asserted is what the server's API says:
// items, snapshots and streams, never our logs.
package runner
