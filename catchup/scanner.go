package catchup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/outrunner/outrunner/runner/wire"
)

// Source is the server as the scan reads it (sessions.md 7.1, 11). Errors are
// those of package wire; any other is a failure of this read only.
type Source interface {
	Snapshot(ctx context.Context, session string) (wire.Snapshot, error)
	Items(ctx context.Context, session, after string, limit int) (wire.Page, error)
}

// Order asks for one session: its snapshot, then all items after the cursor.
type Order struct {
	Session string
	After   string // "" = from the beginning
	Gen     uint64 // handed back with what was found
}

// Found is what one order brought.
type Found struct {
	Order
	Snapshot    wire.Snapshot
	SnapshotErr error // the items were not read
	Items       []wire.Item
	ItemsErr    error // Items is not complete
	Restarted   bool  // the cursor was stale: Items start at the beginning
}

// Verdict is what a merge made of it.
type Verdict struct {
	Items    int
	Turns    int
	Deferred bool // it has to be read again later
}

// Report is the account of one scan.
type Report struct {
	Sessions int
	Items    int
	Turns    int
	Deferred int
	Took     time.Duration
}

// Limits bound a scan. The zero value of a field means its default.
type Limits struct {
	// Parallel is how many reads are open at once. Default 8.
	Parallel int
	// PageSize is how many items are asked for at once, at most 100. Default 100.
	PageSize int
	// ReadTimeout ends one read. Default 10 s, as upstream.
	ReadTimeout time.Duration
	// MaxItems is how many new items of one session are taken in one scan;
	// more is a failure of that session. Default 100,000.
	MaxItems int
}

func (l Limits) withDefaults() Limits {
	if l.Parallel <= 0 {
		l.Parallel = 8
	}
	if l.PageSize <= 0 || l.PageSize > 100 {
		l.PageSize = 100
	}
	if l.ReadTimeout <= 0 {
		l.ReadTimeout = 10 * time.Second
	}
	if l.MaxItems <= 0 {
		l.MaxItems = 100_000
	}
	return l
}

// errNoProgress ends a listing that would go on for ever.
var errNoProgress = errors.New("the server says that there is more and does not move on")

// Scanner reads sessions for the life of one connection. Fields are set before
// Run and not changed after. Add and Run may be called in any order; Run once.
type Scanner struct {
	Source Source
	Limits Limits
	// Merge takes what was found of one session and tells what became of it.
	// It is called from several goroutines, never twice at once for one order.
	Merge func(context.Context, Found) Verdict
	// Done is told whenever the line has become empty.
	Done func(Report)

	mu     sync.Mutex
	line   []*reading
	active int
	report Report
	began  time.Time
	wake   chan struct{}
}

// reading is an order in progress.
type reading struct {
	found  Found
	cursor string
	begun  bool
}

// Add puts sessions at the end of the line.
func (s *Scanner) Add(orders ...Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) == 0 && s.active == 0 {
		s.report, s.began = Report{}, time.Now()
	}
	for _, o := range orders {
		s.line = append(s.line, &reading{found: Found{Order: o}, cursor: o.After})
	}
	if len(orders) == 0 && len(s.line) == 0 && s.active == 0 && s.Done != nil {
		s.Done(s.report) // nothing to do is a result, too
	}
	s.signalLocked()
}

// Run works until ctx ends and all reads have returned.
func (s *Scanner) Run(ctx context.Context) {
	limits := s.Limits.withDefaults()
	var workers sync.WaitGroup
	for range limits.Parallel {
		workers.Go(func() {
			for {
				r, ok := s.next(ctx)
				if !ok {
					return
				}
				s.settle(ctx, r, s.read(ctx, limits, r))
			}
		})
	}
	workers.Wait()
}

// next waits for a reading to work on.
func (s *Scanner) next(ctx context.Context) (*reading, bool) {
	for {
		s.mu.Lock()
		if ctx.Err() == nil && len(s.line) > 0 {
			r := s.line[0]
			s.line = s.line[1:]
			s.active++
			s.mu.Unlock()
			return r, true
		}
		wake := s.wakeLocked()
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, false
		case <-wake:
		}
	}
}

func (s *Scanner) wakeLocked() chan struct{} {
	if s.wake == nil {
		s.wake = make(chan struct{})
	}
	return s.wake
}

func (s *Scanner) signalLocked() {
	if s.wake != nil {
		close(s.wake)
		s.wake = nil
	}
}

// read does one piece of a reading: the snapshot with the first page, or one
// more page. It tells whether the reading is over.
func (s *Scanner) read(ctx context.Context, limits Limits, r *reading) (over bool) {
	f := &r.found
	if !r.begun {
		r.begun = true
		read, cancel := context.WithTimeout(ctx, limits.ReadTimeout)
		f.Snapshot, f.SnapshotErr = s.Source.Snapshot(read, f.Session)
		cancel()
		if f.SnapshotErr != nil {
			return true
		}
	}
	read, cancel := context.WithTimeout(ctx, limits.ReadTimeout)
	defer cancel()
	page, err := s.Source.Items(read, f.Session, r.cursor, limits.PageSize)
	if errors.Is(err, wire.ErrStaleCursor) && !f.Restarted {
		f.Restarted, f.Items, r.cursor = true, nil, ""
		return false
	}
	if err != nil {
		f.ItemsErr = err
		return true
	}
	f.Items = append(f.Items, page.Items...)
	switch {
	case !page.HasMore:
		s.refresh(ctx, limits, f)
		return true
	case len(page.Items) == 0 || page.LastID == "" || page.LastID == r.cursor:
		f.ItemsErr = errNoProgress
		return true
	case len(f.Items) >= limits.MaxItems:
		f.ItemsErr = fmt.Errorf("more than %d new items", limits.MaxItems)
		return true
	}
	r.cursor = page.LastID
	return false
}

// refresh reads the snapshot again behind the items, so that its list of what
// is pending is not older than the listing: an item of the one that is missing
// in the other was delivered, not stored in between.
func (s *Scanner) refresh(ctx context.Context, limits Limits, f *Found) {
	if len(f.Items) == 0 {
		return
	}
	read, cancel := context.WithTimeout(ctx, limits.ReadTimeout)
	defer cancel()
	f.Snapshot, f.SnapshotErr = s.Source.Snapshot(read, f.Session)
}

// settle hands a finished reading over, or puts it back at the end of the line.
func (s *Scanner) settle(ctx context.Context, r *reading, over bool) {
	var v Verdict
	if over {
		v = s.Merge(ctx, r.found)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	if !over {
		s.line = append(s.line, r)
		s.signalLocked()
		return
	}
	s.report.Sessions++
	s.report.Items += v.Items
	s.report.Turns += v.Turns
	if v.Deferred {
		s.report.Deferred++
	}
	if len(s.line) == 0 && s.active == 0 && s.Done != nil && ctx.Err() == nil {
		s.report.Took = time.Since(s.began)
		s.Done(s.report)
	}
}
