package serverapi

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestLimitsOfAClientGivenAreNotUsed(t *testing.T) {
	release := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-release
		answer(202, asJSON, `{"queued":true}`)(w, r)
	})
	c.HTTP = &http.Client{Timeout: time.Nanosecond, Transport: &http.Transport{}}
	time.AfterFunc(10*time.Millisecond, func() { close(release) })
	require.NoError(t, c.Message(t.Context(), "s", "x"))
}

// A peer that accepts and then says nothing: the connection is never there.
func TestConnectingHasALimitOfItsOwn(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		var all []net.Conn
		for {
			conn, err := listener.Accept()
			if err != nil {
				break
			}
			all = append(all, conn)
		}
		for _, conn := range all {
			_ = conn.Close() // the client is gone
		}
	})
	base, err := url.Parse("https://" + listener.Addr().String())
	require.NoError(t, err)
	const limit = 30 * time.Millisecond
	c := &Client{BaseURL: base, Timing: Timing{Connect: limit, MessageConnect: 2 * limit, ToolConnect: 3 * limit, Away: time.Millisecond}}
	_, err = c.Snapshot(t.Context(), "s")
	require.ErrorContains(t, err, "no connection within 30ms")
	require.True(t, unsure(err))
	require.ErrorContains(t, c.Message(t.Context(), "s", "x"), "no connection within 60ms")
	_, err = c.CallTool(t.Context(), "s", wire.ToolCall{})
	require.ErrorContains(t, err, "no connection within 90ms")
	require.NoError(t, listener.Close())
	accepting.Wait()
	c.Close()
}

// And a call that is connected is not ended by that limit.
func TestAConnectedCallMayTakeLonger(t *testing.T) {
	const limit = 20 * time.Millisecond
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(5 * limit):
			answer(202, asJSON, `{}`)(w, r)
		case <-r.Context().Done():
		}
	})
	c.Timing.Connect, c.Timing.MessageConnect = time.Second, time.Second
	require.NoError(t, c.Message(t.Context(), "s", "the first connects"))
	c.Timing.MessageConnect = limit
	require.NoError(t, c.Message(t.Context(), "s", "x"))
}

func TestASlowServerEndsTheCall(t *testing.T) {
	block := make(chan struct{})
	c := serve(t, func(http.ResponseWriter, *http.Request) { <-block })
	defer close(block)
	const limit = 20 * time.Millisecond
	c.Timing = Timing{Snapshot: limit, Items: limit, Store: limit, Children: limit, Call: limit, Message: limit, Tool: limit, Away: limit, DeletePause: 1}
	for name, do := range map[string]func() error{
		"snapshot":    func() error { _, err := c.Snapshot(t.Context(), "s"); return err },
		"items":       func() error { _, err := c.Items(t.Context(), "s", "", 1); return err },
		"store":       func() error { _, err := c.Store(t.Context(), "s", wire.Outgoing{ItemData: []byte("{}")}); return err },
		"message":     func() error { return c.Message(t.Context(), "s", "x") },
		"labels":      func() error { return c.PatchLabels(t.Context(), "s", nil) },
		"create":      func() error { _, err := c.CreateChild(t.Context(), wire.NewChild{}); return err },
		"delete":      func() error { return c.DeleteSession(t.Context(), "s") },
		"find":        func() error { _, _, err := c.FindChild(t.Context(), "s", "a", "b"); return err },
		"children":    func() error { _, err := c.Children(t.Context(), "s"); return err },
		"latest text": func() error { _, _, err := c.LatestText(t.Context(), "s", ""); return err },
		"evaluate":    func() error { _, err := c.Evaluate(t.Context(), "s", []byte("{}")); return err },
		"tool":        func() error { _, err := c.CallTool(t.Context(), "s", wire.ToolCall{}); return err },
	} {
		err := do()
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.NotErrorIs(t, err, wire.ErrNotFound, name)
	}
}
