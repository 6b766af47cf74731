package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/internal/observe"
)

const defaultState = "~/.outrunner"

// app is what every subcommand gets.
type app struct {
	in       io.Reader
	out, err io.Writer
	lookup   func(string) (string, bool) // of the environment
	unset    func(string) error

	configPath, state, logLevel, logFormat string

	file    *config.File
	secrets observe.Secrets
	log     *slog.Logger
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "outrunner",
		Short: "serve agents and shells of this machine through an outgoing tunnel",
		Long: `outrunner serves agents and shells of this machine through one outgoing
connection, so that no port has to be opened.

  outrunner up                                   a server and a runner, here
  outrunner send --agent shell 'uname -a'        ask it something

Every flag has an environment variable: --log-level is OUTRUNNER_LOG_LEVEL.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return usage(a.configure(cmd))
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.configPath, "config", "", "config `file` (default: config.yaml in the state directory, if it is there)")
	flags.StringVar(&a.state, "state", defaultState, "state `directory`")
	flags.StringVar(&a.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&a.logFormat, "log-format", observe.Text, "text or json")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(a.upCommand(), a.runCommand(), a.serverCommand(), a.sendCommand(),
		a.attachCommand(), a.sessionsCommand(), a.agentsCommand(), a.runnersCommand(), a.mcpCommand(), a.versionCommand())
	usageOfArgs(root)
	return root
}

// usageOfArgs gives wrong arguments the exit code of usage.
func usageOfArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		usageOfArgs(sub)
	}
}

// configure reads the environment and the config file into the flags, and
// makes the logger.
func (a *app) configure(cmd *cobra.Command) error {
	if err := config.Environment(cmd.Flags(), a.lookup, upstreamNames(cmd)); err != nil {
		return err
	}
	var err error
	if a.state, err = config.Expand(a.state); err != nil {
		return err
	}
	if err := a.readFile(); err != nil {
		return err
	}
	if err := a.file.Defaults(cmd.Flags()); err != nil {
		return err
	}
	if a.state, err = filepath.Abs(a.state); err != nil {
		return fmt.Errorf("finding the state directory: %w", err)
	}
	a.log, err = observe.NewLogger(a.err, a.logLevel, a.logFormat, &a.secrets)
	return err
}

// readFile reads the named config file, or the one in the state directory if
// it is there.
func (a *app) readFile() error {
	a.file = &config.File{}
	path, named := a.configPath, a.configPath != ""
	if !named {
		path = filepath.Join(a.state, "config.yaml")
	}
	path, err := config.Expand(path)
	if err != nil {
		return err
	}
	file, err := config.ReadFile(path)
	switch {
	case !named && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		// A state directory that is none is told by whoever needs it.
		return nil
	case err != nil:
		return err
	case file.State != "" && !named:
		return fmt.Errorf("config file %s: state can only be set in a file that is named with --config", path)
	}
	a.file = file
	return nil
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.out, "outrunner "+version())
			return err
		},
	}
}

// version is what the build knows of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
