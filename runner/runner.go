package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/outrunner/outrunner/runner/core"
)

// Config is what a Runner needs. ID, Server, Specs and Harness are required.
type Config struct {
	// ID is this runner's id, as it claims it at the server.
	ID string
	// Version is told in the health answer.
	Version string

	Server  Server
	Specs   Specs
	Harness Harness
	// Terminals runs programs in terminals. Default: this runner has none.
	Terminals Terminals
	// Summarizer sums conversations up for the server. Default: this runner has
	// no POST /v1/summarize.
	Summarizer Summarizer
	// Workspace is the folder of sessions that have none of their own, and what
	// theirs are seen from. Default: the current one.
	Workspace string
	// Shell is what a terminal runs that names no program. Default: $SHELL, else
	// bash, else sh.
	Shell string
	// Journal keeps the state. Default: memory, which forgets at the end of
	// the process.
	Journal Journal

	// LaunchBudget is how long a dispatched sub-agent may take to show a sign of
	// life; then its parent is told that it failed, until it is heard of.
	// Default 3 min; negative is for ever.
	LaunchBudget time.Duration

	// Carrier joins the handlers to the tunnel that carries them. The zero
	// value serves plain HTTP.
	Carrier Carrier
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Timing is for tests; the zero value is right.
	Timing Timing
}

// Carrier is how handlers reach the tunnel under them; each field may be nil.
type Carrier struct {
	// Admitted lets the next request of the same order key start.
	Admitted func(context.Context)
	// Generation is the number of the connection that a request came by.
	Generation func(context.Context) uint64
	// OnCovered calls fn once the peer has everything written to w so far. It
	// returns false when w cannot tell.
	OnCovered func(w http.ResponseWriter, fn func()) bool
}

// Timing names the waits of this package. The zero value of a field means its
// default.
type Timing struct {
	// Heartbeat is the longest silence of a session stream. Default 15 s
	// (sessions.md 4: the server cuts at 45 s).
	Heartbeat time.Duration
	// Request is how long a request waits for its reply. Default 9 s.
	Request time.Duration
	// Tool is how long a tool of the runner may take. Default 2 min: the server
	// waits two hours, and a repeat of the operation joins or is told the same.
	Tool time.Duration
	// SegmentAge is how long text waits for its segment to be closed at a line
	// border. Default 1 s.
	SegmentAge time.Duration
	// Identity is how long snapshot and spec reads are tried. Default 5 s.
	Identity time.Duration
	// StoreRetry is the first wait after a failed store, doubled up to 2 s.
	// Default 100 ms.
	StoreRetry time.Duration
	// Seen is how long the server is given to keep the end of a turn after it
	// has read it. Default 2 s.
	Seen time.Duration
	// Retire is how long the readers of streams are given to read their end.
	// Default 5 s.
	Retire time.Duration
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&t.Heartbeat, 15*time.Second)
	set(&t.Request, 9*time.Second)
	set(&t.Tool, 2*time.Minute)
	set(&t.SegmentAge, time.Second)
	set(&t.Identity, 5*time.Second)
	set(&t.StoreRetry, 100*time.Millisecond)
	set(&t.Seen, 2*time.Second)
	set(&t.Retire, 5*time.Second)
	return t
}

// Runner serves the sessions of one machine. Make it with New, serve Handler,
// tell it of connections with OnUp and OnDown, and keep Run running.
type Runner struct {
	cfg    Config
	log    *slog.Logger
	timing Timing
	loop   *loop
	driver *driver
	active activity

	terminals *terminals
}

// New returns a runner with the state that its journal remembers. It starts
// nothing.
func New(cfg Config) (*Runner, error) {
	switch {
	case cfg.ID == "":
		return nil, errors.New("runner: an id is required")
	case cfg.Server == nil || cfg.Specs == nil || cfg.Harness == nil:
		return nil, errors.New("runner: Server, Specs and Harness are required")
	}
	if cfg.Journal == nil {
		cfg.Journal = &MemoryJournal{}
	}
	if cfg.LaunchBudget == 0 {
		cfg.LaunchBudget = core.DefaultLaunchBudget * time.Millisecond
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	workspace, err := filepath.Abs(cfg.Workspace)
	if err != nil {
		return nil, fmt.Errorf("finding the workspace %q: %w", cfg.Workspace, err)
	}
	cfg.Workspace = workspace
	if cfg.Shell == "" {
		cfg.Shell = userShell()
	}
	r := &Runner{active: activity{last: time.Now()}, cfg: cfg, log: cfg.Log, timing: cfg.Timing.withDefaults()}
	state := core.New(core.Config{
		Runner: cfg.ID, Traits: cfg.Harness.Traits, NewID: newID, LaunchBudget: cfg.LaunchBudget.Milliseconds(),
		Terminals: cfg.Terminals != nil,
	})
	records, err := cfg.Journal.Load()
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	if err := state.Restore(records); err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	r.loop = newLoop(state, cfg.Journal, r.log, len(records))
	r.driver = newDriver(r)
	r.terminals = newTerminals(cfg.Terminals, r.log, func(ev core.Told) { r.loop.answer(ev) })
	return r, nil
}

// Run drives the runner until ctx ends. What runs then is left open in the
// journal, and settled at the next start; its programs are ended.
func (r *Runner) Run(ctx context.Context) {
	r.loop.answer(core.Restored{})
	// What programs have written is journaled first; then the loop ends, so
	// that the ends of turns that this very end cuts are not taken for ends;
	// then the programs.
	looping, stop := context.WithCancel(context.WithoutCancel(ctx))
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { r.driver.flush(work); stop() })()
	r.loop.run(looping, work, r.driver)
	stop()
	cancel()
	r.driver.wait()
}

// OnUp tells that a connection is registered, and scans what it missed. It
// returns when ctx, the life of the connection, has ended.
func (r *Runner) OnUp(ctx context.Context, gen uint64) {
	r.active.enter()() // nothing could be asked before
	r.driver.scan(ctx, gen)
}

// OnDown tells that a connection is gone.
func (r *Runner) OnDown(gen uint64) { r.loop.answer(core.TunnelDown{Gen: gen}) }

// EndStreams ends the open session streams and lets none begin: a connection
// that is to be closed then has nothing to wait for.
func (r *Runner) EndStreams() { r.driver.outlets.closeAll(endCut) }

// OrderKey is the session that a request is about, "" for none: requests of
// one session start in the order in which they came.
func OrderKey(req *http.Request) string {
	parts := strings.Split(strings.TrimPrefix(req.URL.Path, "/"), "/")
	if len(parts) < 3 || parts[0] != "v1" || parts[1] != "sessions" {
		return ""
	}
	return parts[2]
}

// newID returns 128 random bits in hex.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
