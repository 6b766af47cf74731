// Package acp is the harness adapter for any agent that speaks the Agent
// Client Protocol: JSON-RPC in lines on standard input and output (harness.md
// 4.4). docs/harness-acp.md is what a user reads about it.
//
// Package keep keeps one process per session. Each has a peer, which is our end
// of the protocol for as long as the process lives: it hears every line. Updates
// it takes itself, in the order of the lines; requests and answers it hands to
// the connection of the protocol's own library, which matches them. A Run is one
// turn: it opens the agent's session, by session/load if the agent has had it
// before, sends session/prompt and waits for the answer; what comes between the
// two is the turn's output.
//
// Files: peer.go and call.go are the connection; handshake.go, session.go,
// model.go and prompt.go what we ask; update.go, tool.go, permission.go and
// files.go what the agent tells and asks; outcome.go how it ended.
package acp
