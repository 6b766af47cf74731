// Package serverapi is the server's HTTP API as the runner calls it back
// (sessions.md 11). Client implements the runner's Server port and opens agent
// bundles.
//
//   - client.go: the client, its limits, one call.
//   - answer.go: what an answer means: settled, rejected, or worth another try.
//   - sessions.go: snapshot, items, storing an item, agent contents.
//
// The difference that callers live on is "the server says no" against "nobody
// knows". So an answer that does not come from the server itself, like a
// proxy's HTML page or a login redirect, is never a settled one, whatever its
// status says; and a body is read only up to a limit.
package serverapi
