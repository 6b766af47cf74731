package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/outrunner/outrunner/internal/agentspec"
	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/internal/harness"
	"github.com/outrunner/outrunner/internal/journal"
	"github.com/outrunner/outrunner/internal/serverapi"
	"github.com/outrunner/outrunner/internal/summary"
	"github.com/outrunner/outrunner/runner"
	"github.com/outrunner/outrunner/tunnel"
)

// The rooms of the house fit the runner's ports.
var (
	_ runner.Server  = (*serverapi.Client)(nil)
	_ runner.Specs   = (*agentspec.Loader)(nil)
	_ runner.Journal = (*journal.DB)(nil)
	_ runner.Harness = (*harness.Manager)(nil)
)

const (
	claimHeader = "X-Omnigent-Runner-Tunnel-Token"
	// harnessStop bounds how long programs may take to end when the runner does.
	harnessStop = 10 * time.Second
)

// runnerSetup is what one runner is made of.
type runnerSetup struct {
	room      *config.Room
	server    *url.URL
	id        string
	secret    string
	bearer    string // "" = none
	workspace string
	file      *config.File
	omnigent  string // Omnigent's own configuration, "" = none
	log       *slog.Logger
	launch    time.Duration // launch budget of sub-agents; 0 = default, negative = for ever
	idleExit  time.Duration // without work for so long, the runner ends; 0 = never
	// onUpgrade is called at each accepted upgrade. May be nil.
	onUpgrade func()
}

// runRunner runs a runner until ctx ends, or until it cannot go on.
func runRunner(ctx context.Context, s runnerSetup) (err error) {
	table := s.programs()
	programs, err := s.harnesses(table, s.tools())
	if err != nil {
		return usage(err)
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), harnessStop)
		defer cancel()
		err = errors.Join(err, programs.Shutdown(stop))
	}()
	records, err := journal.Open(s.room.Path("journal.db"), s.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	api := &serverapi.Client{BaseURL: s.server, Header: s.credentials}
	defer api.Close()
	terminals, err := s.terminals()
	if err != nil {
		return err
	}
	defer terminals.Stop()

	r, err := runner.New(runner.Config{
		ID: s.id, Version: version(), Log: s.log,
		Server:  api,
		Specs:   &agentspec.Loader{Fetch: api.AgentContents, Dir: s.room.Path("agents")},
		Journal: records,
		Harness: programs, LaunchBudget: s.launch,
		Terminals: terminals, Workspace: s.workspace,
		Summarizer: &summary.Summarizer{},
		Carrier:    runner.Carrier{Admitted: tunnel.Admitted, Generation: tunnel.Generation, OnCovered: tunnel.OnCovered},
	})
	if err != nil {
		return fmt.Errorf("starting the runner: %w", err)
	}
	quiet, err := s.serveTools(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, quiet()) }()
	// They go on for as long as the runner does, and then without it.
	serving, letGo := context.WithCancel(context.WithoutCancel(ctx))
	tended := make(chan error, 1)
	go func() { tended <- terminals.Run(serving) }()
	defer func() { letGo(); err = errors.Join(err, <-tended) }()
	s.log.Info("runner starts", "runner", s.id, "server", s.server.String(), "workspace", s.workspace)
	return s.connect(ctx, r, slices.Sorted(maps.Keys(table)))
}

// connect drives the runner and its tunnel side by side. The tunnel ends
// first, so that the runner can still answer while it drains.
func (s runnerSetup) connect(ctx context.Context, r *runner.Runner, offered []string) error {
	line, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { r.Run(work) })
	defer context.AfterFunc(ctx, r.EndStreams)()
	if s.idleExit > 0 {
		running.Go(func() {
			if r.RetireAfter(line, s.idleExit) == nil {
				s.log.Info("runner stops", "reason", "it had nothing to do", "idle_exit", s.idleExit)
				hangUp(tunnel.ErrIdle)
			}
		})
	}
	client := &tunnel.Client{
		URL: s.server.String(), RunnerID: s.id,
		Hello: func() tunnel.Hello { return hello(offered) }, Header: s.credentials,
		Handler: r.Handler(), OrderKey: runner.OrderKey, Channels: channels{r},
		OnUpgrade: s.onUpgrade, OnUp: r.OnUp,
		OnDown: func(gen uint64, _ tunnel.Reason) { r.OnDown(gen) },
		Log:    s.log,
	}
	err := client.Run(line)
	hangUp(nil)
	stop()
	running.Wait()
	return err
}

// hello tells which harness ids this runner can run.
func hello(offered []string) tunnel.Hello {
	return tunnel.Hello{
		RunnerVersion: version(), Harnesses: offered, Envs: []string{}, Capabilities: []string{}, TelemetryOptOut: true,
	}
}

func (s runnerSetup) credentials(context.Context) (http.Header, error) {
	header := http.Header{claimHeader: {s.secret}}
	if s.bearer != "" {
		header.Set("Authorization", "Bearer "+s.bearer)
	}
	return header, nil
}
