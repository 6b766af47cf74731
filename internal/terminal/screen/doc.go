// Package screen models what a terminal shows: it is fed each byte that a
// program writes, and can paint a fresh terminal into the same state, so that a
// viewer who comes late, or comes back, sees the screen as it is (terminals.md
// 3.5-3.8). It also says which bytes of a program a viewer may see at all.
//
// A Screen never fails and never asks: any bytes, cut anywhere, leave it in a
// state that is bounded in memory. It knows nothing of tmux, sessions or
// viewers, and is used by one goroutine.
package screen
