// Package client is the user's side of the server's API: what the commands
// send, sessions, agents and runners are made of. The runner's side is package
// serverapi.
//
//   - client.go, errors.go: one call, and what its failure means.
//   - resources.go: sessions, items, agents, runners; terminals.go: terminals.
//   - sse.go, stream.go: a session's event stream, with its resume and silence.
//   - transcript.go: which text is still to be printed; pure.
//   - turn.go: which events belong to the turn of one message, and its end; pure.
//   - follow.go: sends a message and stays with it over lost connections;
//     missed.go asks for what a stream could not tell, patience.go tries again.
//   - attach.go: a session's terminal on the user's screen, over lost connections;
//     attached.go is one connection, typed.go what is not sent yet.
//
// The rule of the house is that no text is lost and none shown twice. Deltas
// are previews and may be missing; stored items are complete. So a delta is
// printed only while its index follows the one before, and a stored item prints
// what of it has not been shown.
package client
