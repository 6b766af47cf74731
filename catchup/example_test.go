package catchup_test

import (
	"context"
	"fmt"

	"github.com/outrunner/outrunner/catchup"
	"github.com/outrunner/outrunner/runner/wire"
)

// shelf is a server with one session of three items.
type shelf struct{}

func (shelf) Snapshot(_ context.Context, session string) (wire.Snapshot, error) {
	return wire.Snapshot{ID: session, AgentID: "a1", Status: "idle"}, nil
}

func (shelf) Items(_ context.Context, _, after string, _ int) (wire.Page, error) {
	items := []wire.Item{{ID: "i1"}, {ID: "i2"}, {ID: "i3"}}
	for n, it := range items {
		if it.ID == after {
			items = items[n+1:]
			break
		}
	}
	return wire.Page{Items: items, LastID: "i3"}, nil
}

// A scan of one session from its cursor on.
func ExampleScanner() {
	ctx, stop := context.WithCancel(context.Background())
	s := &catchup.Scanner{
		Source: shelf{},
		Merge: func(_ context.Context, f catchup.Found) catchup.Verdict {
			fmt.Println(f.Session, "runs", f.Snapshot.AgentID, "and missed", len(f.Items), "items")
			return catchup.Verdict{Items: len(f.Items)}
		},
		Done: func(r catchup.Report) {
			fmt.Println(r.Sessions, "session,", r.Items, "items")
			stop() // a runner goes on until its connection ends
		},
	}
	s.Add(catchup.Order{Session: "s1", After: "i1"})
	s.Run(ctx)
	// Output:
	// s1 runs a1 and missed 2 items
	// 1 session, 2 items
}
