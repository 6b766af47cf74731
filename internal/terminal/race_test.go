//go:build race

package terminal

// Where everything takes ten times as long, rounds are fewer and an idle
// processor is a busier one.
const (
	rounds    = 4
	idleShare = 0.2
)
