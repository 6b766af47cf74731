// Package turn is what the turns of all adapters have in common: what they
// must know about their program (Config), why one is ended early (Reason), how
// long it has been silent (Pulse), and the sentences that tell a user how it
// ended.
//
// An adapter adds how its program is spoken to, and nothing else: exec runs
// one per message, stdio keeps one per session.
package turn
