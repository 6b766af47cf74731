package tunnel

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// channelFunc makes a function a ChannelHandler.
type channelFunc func(context.Context, *Channel)

func (f channelFunc) ServeChannel(ctx context.Context, ch *Channel) { f(ctx, ch) }

// channelPair is both ends of a channel.
func channelPair(t *testing.T, h ChannelHandler, limits Limits, s *Server) (*testServer, *Channel, func() error) {
	ts := newTestServer(t, s)
	stop := startClient(t, &Client{URL: ts.URL, Channels: h, Limits: limits})
	ts.waitRunner(t, "r1", 0)
	ch, err := ts.OpenChannel(t.Context(), "r1", "/a b", "q=%20")
	require.NoError(t, err)
	return ts, ch, stop
}

func TestChannelCarriesMessagesBothWays(t *testing.T) {
	_, ch, _ := channelPair(t, echoChannels{}, Limits{}, &Server{})
	for _, m := range []Message{
		{Data: []byte("text é"), Text: true},
		{Data: []byte{0xff, 0}, Text: false},
		{Data: []byte(strings.Repeat("x", MaxChannelMessage)), Text: true},
		{Data: []byte{}, Text: true},
	} {
		require.NoError(t, ch.Write(t.Context(), m))
		got, err := ch.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	require.NoError(t, ch.Write(t.Context(), Message{Data: []byte{0xff}, Text: true}), "text that is none")
	got, err := ch.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, Message{Data: []byte{0xff}}, got, "goes as binary")
	require.Error(t, ch.Write(t.Context(), Message{Data: make([]byte, MaxChannelMessage+1)}))
	ch.Close(1000, "")
	var closed *ChannelError
	require.ErrorAs(t, ch.Write(t.Context(), Message{}), &closed)
	_, err = ch.Read(t.Context())
	require.ErrorAs(t, err, &closed)
}

func TestChannelEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		serve  channelFunc
		code   int
		reason string
	}{
		{"closed with a code", func(_ context.Context, ch *Channel) { ch.Close(4405, "detached"); ch.Close(1000, "") }, 4405, "detached"},
		{"returned", func(context.Context, *Channel) {}, 1000, ""},
		{"panicked", func(context.Context, *Channel) { panic("x") }, 1011, "runner dispatch failed"},
		{"a long reason", func(_ context.Context, ch *Channel) { ch.Close(4000, strings.Repeat("é", 100)) }, 4000, strings.Repeat("é", 61)},
	} {
		t.Run(c.name, func(t *testing.T) {
			serve := func(ctx context.Context, ch *Channel) {
				require.Equal(t, "/a b", ch.Path)
				require.Equal(t, "q=%20", ch.Query)
				require.NoError(t, ch.Write(ctx, Message{Data: []byte("last"), Text: true}))
				c.serve(ctx, ch)
			}
			_, ch, _ := channelPair(t, channelFunc(serve), Limits{}, &Server{})
			m, err := ch.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, "last", string(m.Data), "what was written comes before the close")
			_, err = ch.Read(t.Context())
			require.Equal(t, error(&ChannelError{Code: c.code, Reason: c.reason}), err)
		})
	}
}

func TestChannelIsClosedByTheServer(t *testing.T) {
	ended := make(chan error, 1)
	_, ch, _ := channelPair(t, channelFunc(func(ctx context.Context, ch *Channel) {
		for {
			if _, err := ch.Read(ctx); err != nil {
				ended <- err
				return
			}
		}
	}), Limits{}, &Server{})
	require.NoError(t, ch.Write(t.Context(), Message{Data: []byte("x")}))
	ch.Close(1000, "bye")
	require.Equal(t, error(&ChannelError{Code: 1000, Reason: "bye"}), <-ended)
}

func TestChannelEndsWithItsTunnel(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 2)
	_, ch, stop := channelPair(t, channelFunc(func(ctx context.Context, ch *Channel) {
		close(began)
		_, err := ch.Read(context.Background())
		ended <- err
		<-ctx.Done()
		ended <- context.Cause(ctx)
	}), Limits{}, &Server{})
	<-began
	require.NoError(t, stop())
	_, err := ch.Read(t.Context())
	require.Equal(t, error(&ChannelError{Code: 1001, Reason: "runner shutdown"}), err, "an orderly end is told")
	require.Equal(t, error(&ChannelError{Code: 1001, Reason: "runner shutdown"}), <-ended)
	require.ErrorIs(t, <-ended, errShutdown)
}

func TestChannelWhoseReaderIsTooSlow(t *testing.T) {
	release := make(chan struct{})
	ended := make(chan error, 1)
	ts, ch, _ := channelPair(t, channelFunc(func(ctx context.Context, ch *Channel) {
		if strings.HasPrefix(ch.Path, "/ok") {
			echoChannels{}.ServeChannel(ctx, ch)
			return
		}
		<-release
		_, err := ch.Read(ctx)
		ended <- err
	}), Limits{ReceiveStream: 40 << 10}, &Server{}) // 10 KiB for a channel
	neighbour, err := ts.OpenChannel(t.Context(), "r1", "/ok", "")
	require.NoError(t, err)
	for range 11 {
		if ch.Write(t.Context(), Message{Data: make([]byte, 1<<10)}) != nil {
			break
		}
	}
	_, err = ch.Read(t.Context())
	require.Equal(t, error(&ChannelError{Code: 1013, Reason: "channel overflow"}), err)
	close(release)
	require.Equal(t, error(&ChannelError{Code: 1013, Reason: "channel overflow"}), <-ended)
	require.NoError(t, neighbour.Write(t.Context(), Message{Data: []byte("still here")}))
	m, err := neighbour.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, "still here", string(m.Data))
}

func TestChannelLimits(t *testing.T) {
	ts := newTestServer(t, &Server{})
	_, err := ts.OpenChannel(t.Context(), "nobody", "/", "")
	var offline *OfflineError
	require.ErrorAs(t, err, &offline)

	block := channelFunc(func(ctx context.Context, _ *Channel) { <-ctx.Done() })
	startClient(t, &Client{URL: ts.URL, Channels: block, Limits: Limits{Open: 1}})
	ts.waitRunner(t, "r1", 0)
	_, err = ts.OpenChannel(t.Context(), "r1", "/", "")
	require.NoError(t, err)
	second, err := ts.OpenChannel(t.Context(), "r1", "/", "")
	require.NoError(t, err)
	_, err = second.Read(t.Context())
	require.Equal(t, error(&ChannelError{Code: 1013, Reason: "overloaded"}), err)
}

func TestInboxBudgetIsPaidByTheHeaviest(t *testing.T) {
	total := &budget{limit: 100}
	heavy, light := newInbox[int](90, total), newInbox[int](90, total)
	require.Equal(t, fits, heavy.put(1, 80))
	require.Equal(t, fits, light.put(1, 10))
	require.Equal(t, overOwn, heavy.put(1, 15))
	require.Equal(t, overTotal, light.put(2, 20))
	relieve([]receiver{testReceiver{light}, testReceiver{heavy}})
	require.Equal(t, fits, light.put(2, 20))
	_, err := heavy.take(t.Context())
	require.ErrorIs(t, err, errSlow)
	v, err := light.take(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, v)
	light.end(errSlow)
	v, err = light.take(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, v)
	_, err = light.take(t.Context())
	require.ErrorIs(t, err, errSlow)
	require.Zero(t, total.used.Load())

	empty := newInbox[int](1, total)
	require.Equal(t, fits, empty.put(1, 50), "one value always fits its own bound")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errSlow)
	_, err = newInbox[int](1, total).take(ctx)
	require.ErrorIs(t, err, errSlow)
}

var errSlow = errors.New("slow")

type testReceiver struct{ *inbox[int] }

func (r testReceiver) overflow() { r.drop(errSlow) }
