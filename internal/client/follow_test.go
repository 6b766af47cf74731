package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wait runs Wait beside a script of what the server does meanwhile.
func wait(t *testing.T, fl *Follower, script func()) (End, error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		script()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	end, err := fl.Wait(ctx)
	<-done
	return end, err
}

func TestSendAndWait(t *testing.T) {
	f := newFake(t)
	var out strings.Builder
	fl := f.follower(&out)
	var types []string
	fl.Event = func(ev Event) { types = append(types, ev.Type) }
	require.NoError(t, fl.Send(t.Context(), "hello"))
	require.Equal(t, "i", fl.Item)
	end, err := wait(t, fl, func() {
		f.row(`{"type":"response.in_progress","response":{"id":"q"},"input_item_ids":["before"]}`)
		f.delta("q:0", 0, "not ours")
		f.row(`{"type":"response.completed","response":{"id":"q"},"input_item_ids":["before"]}`)
		f.row(begin)
		f.delta("t:0", 0, "one ")
		f.delta("t:0", 1, "two")
		f.item("a", "r", "t:0", "one two", true)
		f.row(complete)
	})
	require.NoError(t, err)
	require.Equal(t, End{Outcome: Completed, Response: "r"}, end)
	require.Equal(t, "one two", out.String())
	require.Len(t, types, 8)
	require.Equal(t, []string{""}, f.opened, "the stream is opened once, before the message is sent")
}

func TestALostAnswerToTheMessageIsNoSecondMessage(t *testing.T) {
	f := newFake(t)
	f.onPost = func(n int) {
		if n < 3 {
			panic(http.ErrAbortHandler)
		}
	}
	var out strings.Builder
	fl := f.follower(&out)
	require.NoError(t, fl.Send(t.Context(), "hello"))
	require.Len(t, f.posts, 1, "one stable id")
	for id, n := range f.posts {
		require.Equal(t, 3, n)
		require.Len(t, id, 32)
	}
}

func TestFiveCutsInOneTurn(t *testing.T) {
	f := newFake(t)
	var out strings.Builder
	fl := f.follower(&out)
	require.NoError(t, fl.Send(t.Context(), "hello"))
	<-f.joined
	end, err := wait(t, fl, func() {
		f.row(begin)
		f.delta("t:0", 0, "a")
		f.cut()
		f.item("1", "r", "t:0", "ab", true) // while nobody listens
		<-f.joined
		f.delta("t:1", 0, "c")
		f.delta("t:1", 1, "d")
		f.cut()
		<-f.joined
		f.delta("t:1", 3, "cdef") // all of it so far
		f.cut()
		<-f.joined
		f.cut()
		<-f.joined
		f.delta("t:1", 5, "h") // a piece is missing
		f.item("2", "r", "t:1", "cdefgh", true)
		f.cut()
		f.row(complete)
	})
	require.NoError(t, err)
	require.Equal(t, Completed, end.Outcome)
	require.Equal(t, "abcdefgh", out.String())
	require.NotContains(t, f.opened[1:], "", "every later stream goes on where the one before ended")
}

func TestACutBeforeTheFirstEvent(t *testing.T) {
	f := newFake(t)
	f.row(`{"type":"response.completed","response":{"id":"old"},"input_item_ids":["old"]}`)
	var out strings.Builder
	fl := f.follower(&out)
	require.NoError(t, fl.Send(t.Context(), "hello"))
	<-f.joined
	f.cut()
	f.row(begin)
	f.item("1", "r", "t:0", "text", true)
	f.row(complete)
	end, err := wait(t, fl, func() {})
	require.NoError(t, err)
	require.Equal(t, Completed, end.Outcome)
	require.Equal(t, "text", out.String())
	require.Equal(t, []string{"", "1"}, f.opened)
}

func TestTheServerIsAwayForAWhile(t *testing.T) {
	f := newFake(t)
	var out strings.Builder
	var notices []string
	fl := f.follower(&out)
	back := make(chan struct{})
	fl.Notice = func(s string) {
		notices = append(notices, s)
		if strings.HasPrefix(s, "the connection is lost") {
			close(back)
		}
	}
	require.NoError(t, fl.Send(t.Context(), "hello"))
	<-f.joined
	end, err := wait(t, fl, func() {
		f.row(begin)
		f.mu.Lock()
		f.down = true
		f.mu.Unlock()
		f.cut()
		<-back
		f.item("1", "r", "t:0", "text", true)
		f.row(complete)
		f.mu.Lock()
		f.down = false
		f.mu.Unlock()
	})
	require.NoError(t, err)
	require.Equal(t, Completed, end.Outcome)
	require.Equal(t, "text", out.String())
	require.Equal(t, "connected again", notices[len(notices)-1])
}

func TestPatienceEnds(t *testing.T) {
	f := newFake(t)
	f.down = true
	var out strings.Builder
	fl := f.follower(&out)
	fl.Patience = 20 * time.Millisecond
	require.ErrorIs(t, fl.Send(t.Context(), "hello"), ErrUnreachable)

	fl = f.follower(&out)
	fl.Item, fl.Patience = "i", 20*time.Millisecond
	_, err := fl.Wait(t.Context())
	require.ErrorIs(t, err, ErrUnreachable)
}

func TestARefusalIsNotRepeated(t *testing.T) {
	f := newFake(t)
	var out strings.Builder
	fl := f.follower(&out)
	fl.Session, fl.Item = "gone", "i"
	_, err := fl.Wait(t.Context())
	var status *StatusError
	require.ErrorAs(t, err, &status)
	require.Equal(t, 404, status.Status)
}

func TestFollowAnEarlierMessage(t *testing.T) {
	f := newFake(t)
	f.row(begin)
	f.item("1", "r", "t:0", "one ", true)
	var out strings.Builder
	fl := f.follower(&out)
	fl.Item = "i"
	end, err := wait(t, fl, func() {
		<-f.joined
		f.delta("t:1", 0, "two")
		f.row(complete)
	})
	require.NoError(t, err)
	require.Equal(t, Completed, end.Outcome)
	require.Equal(t, "one two", out.String())
	require.Equal(t, []string{"0"}, f.opened)
}

func TestAStreamThatHasForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		session string
		failed  bool
		live    bool
		waits   bool // nothing of the answer is there yet
	}{
		"while it runs":     {session: `{"id":"s","status":"running","active_response_id":"r"}`, live: true},
		"after it ended":    {session: `{"id":"s","status":"idle"}`},
		"after it failed":   {session: `{"id":"s","status":"failed"}`, failed: true},
		"before it started": {session: `{"id":"s","status":"running","active_response_id":"q","pending_inputs":[{"item_id":"i"}]}`, live: true, waits: true},
	} {
		f := newFake(t)
		f.row(begin)
		f.first, f.session = 1, c.session
		f.items = append(f.items, `{"id":"u","type":"message","role":"user","content":[{"text":"another"}]}`)
		if !c.waits {
			f.item("1", "r", "t:0", "one ", false)
		}
		if c.failed {
			f.items = append(f.items, `{"id":"e","type":"error","response_id":"r","code":"exit_status","message":"status 3"}`)
		}
		var out strings.Builder
		fl := f.follower(&out)
		fl.Item = "i"
		end, err := wait(t, fl, func() {
			<-f.joined
			if c.live {
				f.row(begin)
				f.item("2", "r", "t:1", "two", true)
				f.row(complete)
			}
		})
		require.NoError(t, err, name)
		switch {
		case c.failed:
			require.Equal(t, End{Outcome: Failed, Response: "r", Error: &Error{Code: "exit_status", Message: "status 3"}}, end)
		default:
			require.Equal(t, Completed, end.Outcome, name)
		}
		want := "one "
		if c.live {
			want += "two"
		}
		if c.waits {
			want = "two"
		}
		require.Equal(t, want, out.String(), name)
	}
}

func TestWhoIsAwayIsSaid(t *testing.T) {
	for session, want := range map[string]string{
		`{"id":"s"}`: "no runner is connected",
		`{"id":"s","runner_id":"r","runner_online":false}`: "the runner is away",
	} {
		f := newFake(t)
		f.session = session
		var out strings.Builder
		said := make(chan string, 10)
		fl := f.follower(&out)
		fl.Item, fl.Quiet, fl.Notice = "i", 1, func(s string) { said <- s }
		_, err := wait(t, fl, func() {
			require.Contains(t, <-said, want)
			f.row(complete)
		})
		require.NoError(t, err)
		require.Empty(t, said)
	}
}

func TestNobodyAsksOnceTheTurnRuns(t *testing.T) {
	f := newFake(t)
	f.session = `{"id":"s"}`
	f.row(begin)
	f.row(complete)
	var out strings.Builder
	fl := f.follower(&out)
	fl.Item, fl.Notice = "i", func(s string) { t.Errorf("said: %s", s) }
	_, err := fl.Wait(t.Context())
	require.NoError(t, err)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	f := newFake(t)
	var out strings.Builder
	fl := f.follower(&out)
	fl.Item = "i"
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-f.joined
		cancel()
	}()
	_, err := fl.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestASilentStreamIsLost(t *testing.T) {
	f := newFake(t)
	var out strings.Builder
	fl := f.follower(&out)
	s, err := fl.Client.open(t.Context(), "s", "", 30*time.Millisecond)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Next()
	require.NoError(t, err, "the heartbeat")
	_, err = s.Next()
	require.ErrorIs(t, err, errSilent)
	require.ErrorIs(t, err, ErrUnreachable)
}

func TestJSONOfEventsIsWhatTheServerSent(t *testing.T) {
	f := newFake(t)
	f.row(complete)
	var out strings.Builder
	fl := f.follower(&out)
	var got []json.RawMessage
	fl.Item, fl.Event = "i", func(ev Event) { got = append(got, ev.Data) }
	_, err := fl.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, complete, string(got[0]))
}
