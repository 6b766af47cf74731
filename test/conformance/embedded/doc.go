// Package embedded runs the built runner behind the built server, the one that
// outrunner embeds, and holds the two together to what they promise of
// sub-agents: a parent's program calls a tool, its children are answered by
// their own programs, and each result comes back to the parent once, also when
// the runner was killed in between and when it has lost its memory.
//
// world_test.go has the programs, tree_test.go the scenarios.
package embedded
