package catchup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// fakeServer holds sessions with numbered items "1".."n"; a page cursor is the
// id of its last item.
type fakeServer struct {
	items map[string]int
	snap  func(ctx context.Context, session string) error
	page  func(session, after string) error

	mu    sync.Mutex
	reads []string
	open  int
	most  int
}

func (f *fakeServer) enter(what string) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = append(f.reads, what)
	f.open++
	f.most = max(f.most, f.open)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.open--
	}
}

func (f *fakeServer) Snapshot(ctx context.Context, session string) (wire.Snapshot, error) {
	defer f.enter("snapshot " + session)()
	if f.snap != nil {
		if err := f.snap(ctx, session); err != nil {
			return wire.Snapshot{}, err
		}
	}
	return wire.Snapshot{ID: session}, nil
}

func (f *fakeServer) Items(_ context.Context, session, after string, limit int) (wire.Page, error) {
	defer f.enter("items " + session + ">" + after)()
	if f.page != nil {
		if err := f.page(session, after); err != nil {
			return wire.Page{}, err
		}
	}
	from := 0
	if after != "" {
		var err error
		if from, err = strconv.Atoi(after); err != nil {
			return wire.Page{}, wire.ErrStaleCursor
		}
	}
	var page wire.Page
	for n := from + 1; n <= f.items[session] && len(page.Items) < limit; n++ {
		page.Items = append(page.Items, wire.Item{ID: strconv.Itoa(n)})
		page.LastID = strconv.Itoa(n)
	}
	page.HasMore = from+len(page.Items) < f.items[session]
	return page, nil
}

// scan runs one scan to its report.
func scan(t *testing.T, f *fakeServer, limits Limits, orders ...Order) (Report, []Found) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var found []Found
	var report Report
	s := &Scanner{
		Source: f, Limits: limits,
		Merge: func(_ context.Context, got Found) Verdict {
			mu.Lock()
			defer mu.Unlock()
			found = append(found, got)
			return Verdict{Items: len(got.Items), Deferred: got.SnapshotErr != nil || got.ItemsErr != nil}
		},
		Done: func(r Report) { report = r; cancel() },
	}
	s.Add(orders...)
	s.Run(ctx)
	return report, found
}

func TestReadsAllPagesAfterTheCursor(t *testing.T) {
	f := &fakeServer{items: map[string]int{"S": 250}}
	report, found := scan(t, f, Limits{}, Order{Session: "S", After: "20"})
	require.Equal(t, 1, report.Sessions)
	require.Equal(t, 230, report.Items)
	require.Len(t, found, 1)
	require.Equal(t, "21", found[0].Items[0].ID)
	require.Equal(t, "250", found[0].Items[229].ID)
	require.Equal(t, []string{"snapshot S", "items S>20", "items S>120", "items S>220", "snapshot S"}, f.reads)
}

// A session with thousands of items takes its turn: with one worker, every
// other session is done before the second page of the long one.
func TestLongSessionDoesNotStarveTheRest(t *testing.T) {
	f := &fakeServer{items: map[string]int{"long": 5000}}
	orders := []Order{{Session: "long"}}
	for n := range 20 {
		orders = append(orders, Order{Session: fmt.Sprint("short", n)})
	}
	_, found := scan(t, f, Limits{Parallel: 1}, orders...)
	require.Len(t, found, 21)
	require.Equal(t, "long", found[20].Session)
	require.Len(t, found[20].Items, 5000)
}

func TestReadsInParallelWithinTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{snap: func(ctx context.Context, _ string) error {
			<-time.After(time.Second)
			return nil
		}}
		var orders []Order
		for n := range 40 {
			orders = append(orders, Order{Session: fmt.Sprint(n)})
		}
		began := time.Now()
		report, _ := scan(t, f, Limits{Parallel: 8}, orders...)
		require.Equal(t, 40, report.Sessions)
		require.Equal(t, 8, f.most)
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

func TestFailuresStayWithTheirSession(t *testing.T) {
	boom := errors.New("boom")
	f := &fakeServer{items: map[string]int{"good": 3, "half": 150}}
	f.snap = func(_ context.Context, session string) error {
		if session == "bad" {
			return boom
		}
		return nil
	}
	f.page = func(session, after string) error {
		if session == "half" && after == "100" {
			return boom
		}
		return nil
	}
	report, found := scan(t, f, Limits{}, Order{Session: "bad"}, Order{Session: "half"}, Order{Session: "good"})
	require.Equal(t, 3, report.Sessions)
	require.Equal(t, 2, report.Deferred)
	for _, got := range found {
		switch got.Session {
		case "bad":
			require.ErrorIs(t, got.SnapshotErr, boom)
			require.Empty(t, got.Items)
		case "half":
			require.ErrorIs(t, got.ItemsErr, boom)
		case "good":
			require.NoError(t, got.ItemsErr)
			require.Len(t, got.Items, 3)
		}
	}
}

func TestReadThatHangsIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{snap: func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		began := time.Now()
		_, found := scan(t, f, Limits{ReadTimeout: 10 * time.Second}, Order{Session: "S"})
		require.ErrorIs(t, found[0].SnapshotErr, context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}

func TestStaleCursorStartsOver(t *testing.T) {
	f := &fakeServer{items: map[string]int{"S": 120}}
	_, found := scan(t, f, Limits{}, Order{Session: "S", After: "gone"})
	require.True(t, found[0].Restarted)
	require.NoError(t, found[0].ItemsErr)
	require.Len(t, found[0].Items, 120)
}

func TestListingWithoutProgressOrEndStops(t *testing.T) {
	loop := sourceFunc(func(after string) wire.Page {
		return wire.Page{Items: []wire.Item{{ID: "1"}}, LastID: "1", HasMore: true}
	})
	s := &Scanner{Source: loop}
	r := &reading{found: Found{Order: Order{Session: "S"}}}
	for range 3 {
		if s.read(t.Context(), Limits{}.withDefaults(), r) {
			break
		}
	}
	require.ErrorIs(t, r.found.ItemsErr, errNoProgress)

	f := &fakeServer{items: map[string]int{"S": 1000}}
	_, found := scan(t, f, Limits{MaxItems: 300}, Order{Session: "S"})
	require.ErrorContains(t, found[0].ItemsErr, "more than 300 new items")
}

type sourceFunc func(after string) wire.Page

func (sourceFunc) Snapshot(context.Context, string) (wire.Snapshot, error) {
	return wire.Snapshot{}, nil
}

func (f sourceFunc) Items(_ context.Context, _, after string, _ int) (wire.Page, error) {
	return f(after), nil
}

// A connection that ends in the middle ends the scan, and a session that is
// added late is read.
func TestEndsWithItsConnectionAndTakesMoreMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var merged sync.Map
		f := &fakeServer{snap: func(ctx context.Context, session string) error {
			if session == "slow" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		reports := 0
		s := &Scanner{
			Source: f, Limits: Limits{ReadTimeout: time.Hour},
			Merge: func(_ context.Context, got Found) Verdict {
				merged.Store(got.Session, got.SnapshotErr)
				return Verdict{}
			},
			Done: func(Report) { reports++ },
		}
		ended := make(chan struct{})
		go func() { s.Run(ctx); close(ended) }()
		s.Add()
		s.Add(Order{Session: "a"})
		synctest.Wait()
		s.Add(Order{Session: "b"}, Order{Session: "slow"})
		synctest.Wait()
		_, a := merged.Load("a")
		_, b := merged.Load("b")
		require.True(t, a && b)
		require.Equal(t, 2, reports, "one for nothing to do, one for a")
		cancel()
		<-ended
		err, _ := merged.Load("slow")
		require.ErrorIs(t, err.(error), context.Canceled)
	})
}
