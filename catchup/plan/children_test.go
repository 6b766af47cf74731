package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChildRows has one case per row of table C, named for it.
func TestChildRows(t *testing.T) {
	for name, c := range map[string]struct {
		child Child
		want  DoChild
	}{
		"1 an inner child of a harness": {Child{Internal: true, Dispatch: "d", Ended: true}, LeaveChild},
		"2 delivered, not read":         {Child{Work: Delivered, WorkID: "w", Dispatch: "d"}, HandOver},
		"2 finished, not delivered":     {Child{Work: Finished, WorkID: "w"}, HandOver},
		"3 read here, no receipt there": {Child{Drained: "w", Dispatch: "w", Ended: true}, WriteReceipt},
		"3 read here, an older receipt": {Child{Drained: "w", Dispatch: "w", Receipt: "old", Ended: true}, WriteReceipt},
		"3 read here and there":         {Child{Drained: "w", Dispatch: "w", Receipt: "w", Ended: true}, LeaveChild},
		"3 read, then dispatched by another runner": {
			Child{Drained: "w", Dispatch: "d", Receipt: "w", Ended: true}, Adopt,
		},
		"3 read, then dispatched and read by another runner": {
			Child{Drained: "w", Dispatch: "d", Receipt: "d", Ended: true}, LeaveChild,
		},
		"3 read, then dispatched by another runner before our receipt came": {
			Child{Drained: "w", Dispatch: "d", Receipt: "old", Ended: true}, Adopt,
		},
		"4 stamped":                           {Child{Work: Stamped, WorkID: "w", Dispatch: "w", Ended: true}, AwaitEdge},
		"5 alive":                             {Child{Work: Live, WorkID: "w", Dispatch: "w"}, AwaitEdge},
		"5 alive without a label":             {Child{Work: Live, WorkID: "w"}, AwaitEdge},
		"5 it went on, and has ended":         {Child{Work: Waiting, WorkID: "w", Dispatch: "w", Ended: true}, Adopt},
		"5 it went on, and does":              {Child{Work: Waiting, WorkID: "w", Dispatch: "w", Interrupted: true}, AwaitEdge},
		"entry and label differ: ours stands": {Child{Work: Live, WorkID: "w", Dispatch: "d", Ended: true}, AwaitEdge},
		"6 unknown here, ended there":         {Child{Dispatch: "d", Ended: true}, Adopt},
		"6 with an older receipt":             {Child{Dispatch: "d", Receipt: "old", Ended: true}, Adopt},
		"7 unknown here, in progress there":   {Child{Dispatch: "d", Interrupted: true}, AwaitChild},
		"8 never dispatched":                  {Child{Ended: true}, LeaveChild},
		"8 read already":                      {Child{Dispatch: "d", Receipt: "d", Ended: true}, LeaveChild},
		"8 launching":                         {Child{Dispatch: "d"}, LeaveChild},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, ReconcileChild(c.child)) })
	}
}
