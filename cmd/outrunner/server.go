package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/outrunner/outrunner/internal/config"
)

func (a *app) serverCommand() *cobra.Command {
	var listen, db string
	cmd := &cobra.Command{
		Use: "server", Short: "run the server alone", Args: cobra.NoArgs,
		Long: `The server holds sessions and accepts the tunnels of runners. Start runners with
"outrunner run --server URL". Peers that are not on this machine need its token.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.server(cmd.Context(), listen, db) },
	}
	cmd.Flags().StringVar(&listen, "listen", defaultListen, "`address` to listen on")
	cmd.Flags().StringVar(&db, "db", "", "database `file` (default: server.db in the state directory)")
	return cmd
}

func (a *app) server(ctx context.Context, listen, db string) (err error) {
	if err := config.ListenAddress(listen); err != nil {
		return usage(err)
	}
	ctx, stop := untilAsked(ctx)
	defer stop()
	room, err := config.Claim(a.state, config.ServerRoom)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	s, err := serve(room, listen, db, a.file, a.log)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "outrunner server at %s\nconnect a runner:  %s run --server %s\n%s",
		s.address(), program(), s.address(), tokenNote(s, room))
	return errors.Join(err, s.wait(ctx), s.stop())
}

// tokenNote says what other machines need, if they can connect at all.
func tokenNote(s *serving, room *config.Room) string {
	if !s.open() {
		return ""
	}
	return "other machines need the token in " + room.Path("token") + " (--server-token-file)\n"
}
