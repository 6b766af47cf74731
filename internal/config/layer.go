package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// EnvName is the environment variable of a flag: OUTRUNNER_LOG_LEVEL for
// --log-level.
func EnvName(flag string) string {
	return "OUTRUNNER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Environment sets the flags that were not given on the command line from
// their variables. Set but empty counts as not set. Extra names further
// variables per flag, in order, that serve when OUTRUNNER_... does not.
func Environment(flags *pflag.FlagSet, lookup func(string) (string, bool), extra map[string][]string) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || failed != nil || f.Name == "help" {
			return
		}
		for _, name := range append([]string{EnvName(f.Name)}, extra[f.Name]...) {
			value, ok := lookup(name)
			if !ok || value == "" {
				continue
			}
			if err := flags.Set(f.Name, value); err != nil {
				failed = fmt.Errorf("environment variable %s: %w", name, err)
			}
			return
		}
	})
	return failed
}

// Defaults sets the flags that neither the command line nor the environment
// has set from the file. Call it after Environment.
func (file *File) Defaults(flags *pflag.FlagSet) error {
	for _, d := range []struct{ flag, key, value string }{
		{"server", "server", file.Server},
		{"listen", "listen", file.Listen},
		{"workspace", "workspace", file.Workspace},
		{"state", "state", file.State},
		{"idle-exit", "idle_exit", file.IdleExit},
		{"log-level", "log_level", file.LogLevel},
		{"log-format", "log_format", file.LogFormat},
	} {
		f := flags.Lookup(d.flag)
		if f == nil || f.Changed || d.value == "" {
			continue
		}
		if err := flags.Set(d.flag, d.value); err != nil {
			return fmt.Errorf("config file: %s: %w", d.key, err)
		}
	}
	return nil
}
