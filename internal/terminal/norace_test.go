//go:build !race

package terminal

const rounds = 20
