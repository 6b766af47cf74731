//go:build race

package terminal

// Where everything takes ten times as long, there is less of it, and an idle
// processor is a busier one.
const (
	rounds     = 4
	idleShare  = 0.2
	floodLines = "60000" // more bytes than a viewer's queue takes
)
