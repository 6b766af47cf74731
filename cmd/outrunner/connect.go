package main

import (
	"github.com/spf13/pflag"

	"github.com/outrunner/outrunner/internal/client"
	"github.com/outrunner/outrunner/internal/config"
)

const defaultServer = "http://" + defaultListen

// connectFlags are those of every command that asks a server.
type connectFlags struct{ server, tokenFile string }

func (f *connectFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "server", defaultServer, "base `URL` of the server")
	flags.StringVar(&f.tokenFile, "server-token-file", "", "`file` with the server's token, for a server on another machine")
}

func (a *app) connect(f connectFlags) (*client.Client, error) {
	server, err := config.ServerURL(f.server)
	if err != nil {
		return nil, usage(err)
	}
	token := ""
	if f.tokenFile != "" {
		if token, err = config.ReadSecret(f.tokenFile); err != nil {
			return nil, usage(err)
		}
		a.secrets.Add(token)
	}
	return client.New(server, token), nil
}
