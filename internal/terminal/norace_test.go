//go:build !race

package terminal

const (
	rounds     = 20
	idleShare  = 0.01 // of a processor
	floodLines = "300000"
)
