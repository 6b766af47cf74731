// Package serverapi is the server's HTTP API as the runner calls it back
// (sessions.md 11). Client implements the runner's Server port and opens agent
// bundles.
//
//   - client.go, timing.go: the client, one call, and how long it may take.
//   - answer.go: what an answer means: settled, rejected, or worth another try.
//   - sessions.go, items.go, contents.go: a session, its labels, what was said
//     in it, its agent.
//   - messages.go, children.go, text.go: giving a sub-agent a task, waking a
//     parent, finding children and what they said last.
//   - tools.go, policies.go: tools that the server runs, and its verdicts.
//
// The difference that callers live on is "the server says no" against "nobody
// knows". So an answer that does not come from the server itself, like a
// proxy's HTML page or a login redirect, is never a settled one, whatever its
// status says; and a body is read only up to a limit.
package serverapi
