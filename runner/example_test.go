package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/outrunner/outrunner/runner"
	"github.com/outrunner/outrunner/runner/wire"
)

// notebook is a server that keeps what it is given. It has no sub-agents: the
// calls for those are the embedded interface's, and are never made.
type notebook struct {
	runner.Server
	stored chan string
}

func (n *notebook) Snapshot(_ context.Context, session string) (wire.Snapshot, error) {
	return wire.Snapshot{ID: session, AgentID: "parrot"}, nil
}

func (n *notebook) Items(context.Context, string, string, int) (wire.Page, error) {
	return wire.Page{}, nil
}

func (n *notebook) Store(_ context.Context, _ string, out wire.Outgoing) (string, error) {
	n.stored <- string(out.ItemData)
	return out.SourceID, nil
}

func (n *notebook) Spec(context.Context, string, string, string) (*wire.Spec, error) {
	return &wire.Spec{Name: "parrot", Harness: "acp:parrot"}, nil
}

// parrot is a harness that needs no process.
type parrot struct{}

func (parrot) Traits(harness string) (wire.Traits, bool) {
	return wire.Traits{OneMessagePerTurn: true}, harness == "acp:parrot"
}

func (parrot) Turn(_ context.Context, start wire.TurnStart, emit func(wire.HarnessEvent) error) wire.TurnEnd {
	said := wire.Text(start.Inputs[0].Content)
	if err := emit(wire.HarnessEvent{Type: wire.TextDelta, Delta: said + "!"}); err != nil {
		return wire.TurnEnd{Outcome: wire.Cancelled}
	}
	return wire.TurnEnd{Outcome: wire.Completed}
}

func (parrot) Send(context.Context, string, string, wire.ToHarness) error { return nil }

func (parrot) Interrupt(context.Context, string, string) error { return nil }
func (parrot) Close(context.Context, string) error             { return nil }

// A runner with a harness of one's own, here behind a plain HTTP server
// instead of a tunnel.
func Example() {
	server := &notebook{stored: make(chan string, 1)}
	r, err := runner.New(runner.Config{
		ID: "runner_example", Server: server, Specs: server, Harness: parrot{}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	defer running.Wait()
	defer stop()

	web := httptest.NewServer(r.Handler())
	defer web.Close()
	resp, err := http.Post(web.URL+"/v1/sessions/s1/events", "application/json",
		strings.NewReader(`{"type":"message","content":"hello","persisted_item_id":"i1","agent_id":"parrot"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.StatusCode, string(answer))
	fmt.Println(<-server.stored)
	// Output:
	// 202 {"detail":"Turn started.","status":"accepted"}
	// {"agent":"parrot","content":[{"text":"hello!","type":"output_text"}],"role":"assistant"}
}
