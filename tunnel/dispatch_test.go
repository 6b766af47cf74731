package tunnel

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fakeCalls makes calls for a dispatcher whose handlers only take note.
type fakeCalls struct {
	d       *dispatcher
	started []string
	calls   map[string]*call
}

func newFakeCalls(l Limits) *fakeCalls {
	f := &fakeCalls{calls: map[string]*call{}}
	f.d = newDispatcher(l.withDefaults(), func(c *call) { f.started = append(f.started, c.id) })
	return f
}

func (f *fakeCalls) add(id, key string) verdict {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &call{id: id, key: key, cancel: cancel, req: (&http.Request{}).WithContext(ctx)}
	v := f.d.add(c)
	if v == accepted {
		f.calls[id] = c
	} else {
		cancel(nil)
	}
	return v
}

func TestDispatchKeyStartsInOrder(t *testing.T) {
	f := newFakeCalls(Limits{})
	for _, id := range []string{"a1", "a2", "a3"} {
		require.Equal(t, accepted, f.add(id, "a"))
	}
	f.add("b1", "b")
	f.add("free", "")
	require.Equal(t, []string{"a1", "b1", "free"}, f.started)
	f.d.admit(f.calls["a1"])
	f.d.admit(f.calls["a1"])
	require.Equal(t, []string{"a1", "b1", "free", "a2"}, f.started, "admitting twice counts once")
	f.d.finished(f.calls["a2"])
	require.Equal(t, "a3", f.started[4], "returning admits")
}

func TestDispatchSlots(t *testing.T) {
	f := newFakeCalls(Limits{Starting: 2})
	for _, id := range []string{"a", "b", "c"} {
		f.add(id, id)
	}
	f.add("a2", "a")
	f.add("free", "")
	require.Equal(t, []string{"a", "b", "free"}, f.started, "a request without a key needs no slot")
	f.d.admit(f.calls["a"])
	require.Equal(t, "c", f.started[3], "an admitted one holds no slot")
	f.d.admit(f.calls["b"])
	require.Equal(t, "a2", f.started[4])
}

func TestDispatchRefusesOverItsLimits(t *testing.T) {
	f := newFakeCalls(Limits{QueuedPerKey: 2, Queued: 3, Open: 6})
	require.Equal(t, accepted, f.add("a1", "a"))
	require.Equal(t, accepted, f.add("a2", "a"))
	require.Equal(t, accepted, f.add("a3", "a"))
	require.Equal(t, overloaded, f.add("a4", "a"), "two wait in this key")
	require.Equal(t, duplicate, f.add("a3", "a"))
	require.Equal(t, accepted, f.add("b1", "b"))
	require.Equal(t, accepted, f.add("b2", "b"))
	require.Equal(t, overloaded, f.add("b3", "b"), "three wait in all")
	require.Equal(t, accepted, f.add("free", ""))
	require.Equal(t, overloaded, f.add("free2", ""), "six are open")

	f = newFakeCalls(Limits{QueuedBytes: 3 * callOverhead})
	f.add("a1", "a")
	f.add("a2", "a")
	f.add("a3", "a")
	require.Equal(t, accepted, f.add("a4", "a"))
	require.Equal(t, overloaded, f.add("a5", "a"), "too many bytes wait")
}

func TestDispatchStopsAWaitingCall(t *testing.T) {
	f := newFakeCalls(Limits{})
	f.add("a1", "a")
	f.add("a2", "a")
	f.add("a3", "a")
	canceled := &CanceledError{Reason: "gone"}
	require.Nil(t, f.d.stop("nobody", canceled))
	require.NotNil(t, f.d.stop("a2", canceled))
	require.Equal(t, error(canceled), context.Cause(f.calls["a2"].req.Context()))
	f.d.finished(f.calls["a1"])
	require.Equal(t, []string{"a1", "a3"}, f.started)
	f.d.finished(f.calls["a3"])
	require.Empty(t, f.d.keys)
	require.Zero(t, f.d.queued+f.d.bytes+f.d.starting)
}

func TestDispatchClose(t *testing.T) {
	f := newFakeCalls(Limits{})
	f.add("a1", "a")
	f.add("a2", "a")
	dropped, idle := f.d.close(errShutdown)
	require.Equal(t, []string{"a2"}, dropped)
	require.Equal(t, stopping, f.add("b", "b"))
	select {
	case <-idle:
		require.Fail(t, "a1 still runs")
	default:
	}
	f.d.finished(f.calls["a1"])
	<-idle
	require.Equal(t, []string{"a1"}, f.started)
}

// TestDispatchProperties checks over random histories: order per key, never
// two between start and admission in a key, never too many in all, nothing
// stopped while waiting ever starts, and nothing is left over.
func TestDispatchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFakeCalls(Limits{Starting: 2})
		added := map[string][]string{}
		stopped, admitted, over := map[string]bool{}, map[string]bool{}, map[string]bool{}
		n := 0
		running := func(ok func(id string) bool) []string {
			var ids []string
			for _, id := range f.started {
				if !over[id] && ok(id) {
					ids = append(ids, id)
				}
			}
			return ids
		}
		any := func(string) bool { return true }
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n++
				id, key := strconv.Itoa(n), rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "key")
				require.Equal(t, accepted, f.add(id, key))
				added[key] = append(added[key], id)
			},
			"admit": func(t *rapid.T) {
				if ids := running(any); len(ids) > 0 {
					id := rapid.SampledFrom(ids).Draw(t, "id")
					f.d.admit(f.calls[id])
					admitted[id] = true
				}
			},
			"finish": func(t *rapid.T) {
				if ids := running(any); len(ids) > 0 {
					id := rapid.SampledFrom(ids).Draw(t, "id")
					f.d.finished(f.calls[id])
					admitted[id], over[id] = true, true
				}
			},
			"stop": func(t *rapid.T) {
				if n == 0 {
					return
				}
				id := strconv.Itoa(rapid.IntRange(1, n).Draw(t, "id"))
				if f.d.stop(id, errShutdown) != nil && !slices.Contains(f.started, id) {
					stopped[id] = true
				}
			},
			"": func(t *rapid.T) {
				starting := running(func(id string) bool { return !admitted[id] && f.calls[id].key != "" })
				require.LessOrEqual(t, len(starting), 2)
				keys := map[string]bool{}
				for _, id := range starting {
					require.False(t, keys[f.calls[id].key], "two of one key are starting")
					keys[f.calls[id].key] = true
				}
				for _, id := range f.started {
					require.False(t, stopped[id])
				}
			},
		})
		for ids := running(any); len(ids) > 0; ids = running(any) {
			for _, id := range ids {
				f.d.finished(f.calls[id])
				over[id] = true
			}
		}
		for key, ids := range added {
			var want, got []string
			for _, id := range ids {
				if !stopped[id] {
					want = append(want, id)
				}
			}
			for _, id := range f.started {
				if f.calls[id].key == key {
					got = append(got, id)
				}
			}
			require.Equal(t, want, got, "key %q", key)
		}
		require.Empty(t, f.d.calls)
		require.Empty(t, f.d.keys)
		require.Zero(t, f.d.queued+f.d.bytes+f.d.starting)
	})
}
