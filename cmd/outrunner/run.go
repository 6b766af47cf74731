package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/outrunner/outrunner/internal/config"
)

// The environment of a runner that a launcher starts (tunnel.md 15). Those that
// have a flag serve as its variable.
const (
	envSession   = "OUTRUNNER_SESSION_ID" // a program of a runner has it
	envServerURL = "RUNNER_SERVER_URL"
	envRunnerID  = "OMNIGENT_RUNNER_ID"
	envWorkspace = "OMNIGENT_RUNNER_WORKSPACE"
	envSecret    = "OMNIGENT_RUNNER_TUNNEL_BINDING_TOKEN"
	envBearer    = "OMNIGENT_RUNNER_INITIAL_AUTH_TOKEN"
	envParent    = "OMNIGENT_RUNNER_PARENT_PID"
	envLaunch    = "OMNIGENT_SUBAGENT_LAUNCH_TIMEOUT_S"
	envMarker    = "OMNIGENT_RUNNER_CONNECT_MARKER"
)

// upstreamNames are further variables of a command's flags.
func upstreamNames(cmd *cobra.Command) map[string][]string {
	switch cmd.Name() {
	case "mcp":
		return map[string][]string{"session": {envSession}, "socket": {envTools}}
	case "run":
	default:
		return nil
	}
	return map[string][]string{"server": {envServerURL}, "id": {envRunnerID}, "workspace": {envWorkspace}}
}

type runFlags struct {
	server, id, tokenFile, serverTokenFile, workspace string

	idleExit time.Duration
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run", Short: "run a runner alone, connected to a server", Args: cobra.NoArgs,
		Long: `Connects to a server and runs its sessions on this machine, for as long as it is
not told to stop: when the connection breaks, it comes back.

A runner's id follows from its secret, which is made in the state directory at
the first start. Whoever has that file is this runner.`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if f.idleExit, err = a.idle(cmd, f.idleExit); err != nil {
				return err
			}
			return a.run(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", defaultServer, "base `URL` of the server")
	flags.StringVar(&f.id, "id", "", "the runner's `id`, only to check that the secret is the expected one")
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the runner's secret (default: one of its own)")
	flags.StringVar(&f.serverTokenFile, "server-token-file", "", "`file` with the server's token, for a server on another machine")
	flags.StringVar(&f.workspace, "workspace", "", "`folder` that agents work in (default: the current one)")
	flags.DurationVar(&f.idleExit, "idle-exit", 0, "end after so `long` without work; whoever started the runner starts it again (default: never; 1h when a launcher names its process)")
	return cmd
}

// launchedIdleExit is upstream's, for a runner that a launcher starts anew when
// there is work.
const launchedIdleExit = time.Hour

// idle is how long the runner stays without work, 0 for ever.
func (a *app) idle(cmd *cobra.Command, asked time.Duration) (time.Duration, error) {
	switch _, launched := a.lookup(envParent); {
	case asked < 0:
		return 0, usage(fmt.Errorf("--idle-exit is %s; it is a time like 1h, or 0 for never", asked))
	case launched && !cmd.Flags().Changed("idle-exit"):
		return launchedIdleExit, nil
	}
	return asked, nil
}

func (a *app) run(ctx context.Context, f runFlags) (err error) {
	server, err := config.ServerURL(f.server)
	if err != nil {
		return usage(err)
	}
	if f.workspace, err = folder(f.workspace); err != nil {
		return usage(err)
	}
	ctx, stop := untilAsked(ctx)
	defer stop()
	ctx, err = a.withParent(ctx)
	if err != nil {
		return usage(err)
	}
	room, err := config.Claim(a.state, config.RunnerRoom)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	secret, err := a.runnerSecret(room, f.tokenFile)
	if err != nil {
		return err
	}
	id, err := config.RunnerID(secret)
	if err != nil {
		return err
	}
	if f.id != "" && f.id != id {
		return usage(fmt.Errorf("the id %s does not belong to this runner's secret, whose id is %s: leave --id out, or give the other secret with --token-file", f.id, id))
	}
	bearer, err := a.serverToken(f.serverTokenFile)
	if err != nil {
		return usage(err)
	}
	if server.Scheme == "http" && !config.Loopback(server.Hostname()) {
		a.log.Warn("the connection is not encrypted: whoever listens on the way can take this runner's place; use https", "server", server.String())
	}
	return runRunner(ctx, runnerSetup{
		room: room, server: server, id: id, secret: secret, bearer: bearer,
		workspace: f.workspace, file: a.file, omnigent: config.OmnigentFile(a.lookup), log: a.log, onUpgrade: a.marker(),
		launch: a.launchBudget(), idleExit: f.idleExit,
	})
}

// runnerSecret is the launcher's, else that of a file, else the room's own. A
// secret leaves the environment as soon as it is read, so that no program
// inherits it.
func (a *app) runnerSecret(room *config.Room, file string) (string, error) {
	given, ok := a.lookup(envSecret)
	if err := a.unset(envSecret); err != nil {
		return "", fmt.Errorf("removing %s from the environment: %w", envSecret, err)
	}
	var err error
	switch given = strings.TrimSpace(given); {
	case file != "":
		given, err = config.ReadSecret(file)
	case ok && given == "":
		return "", usage(fmt.Errorf("%s is set, but blank", envSecret))
	case !ok:
		given, err = room.Secret()
	}
	a.secrets.Add(given)
	return given, err
}

// serverToken is the bearer for the server, "" for none.
func (a *app) serverToken(file string) (string, error) {
	token, _ := a.lookup(envBearer)
	if err := a.unset(envBearer); err != nil {
		return "", fmt.Errorf("removing %s from the environment: %w", envBearer, err)
	}
	var err error
	if file != "" {
		token, err = config.ReadSecret(file)
	}
	a.secrets.Add(token)
	return token, err
}

// launchBudget reads the launcher's limit for a sub-agent's start, in seconds; 0
// and less is none, and what is no number is the default.
func (a *app) launchBudget() time.Duration {
	value, _ := a.lookup(envLaunch)
	seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	switch {
	case err != nil, seconds != seconds, seconds > math.MaxInt32:
		return 0
	case seconds <= 0:
		return -1
	}
	return time.Duration(seconds * float64(time.Second))
}

// marker touches the launcher's file at each upgrade, if it wants that.
func (a *app) marker() func() {
	path, ok := a.lookup(envMarker)
	if !ok || path == "" {
		return nil
	}
	return func() {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			err = errors.Join(f.Close(), os.Chtimes(path, time.Time{}, time.Now()))
		}
		if err != nil {
			a.log.Warn("the connect marker cannot be written", "err", err)
		}
	}
}

// parentPoll is how often the launcher is looked for.
const parentPoll = 500 * time.Millisecond

// withParent ends the context when the launcher that is named in the
// environment has died.
func (a *app) withParent(ctx context.Context) (context.Context, error) {
	value, ok := a.lookup(envParent)
	if !ok {
		return ctx, nil
	}
	pid, err := strconv.Atoi(value)
	if err != nil || pid <= 0 {
		return nil, fmt.Errorf("%s is %q, which is no process id", envParent, value)
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		tick := time.NewTicker(parentPoll)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if orphaned(pid) {
					a.log.Info("runner stops", "reason", "parent process died")
					return
				}
			}
		}
	}()
	return ctx, nil
}
