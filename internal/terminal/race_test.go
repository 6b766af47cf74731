//go:build race

package terminal

// rounds is fewer where everything takes ten times as long.
const rounds = 4
