package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/outrunner/outrunner/internal/client"
)

func (a *app) sessionsCommand() *cobra.Command {
	var f connectFlags
	var asJSON bool
	with := func(use func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(f)
			if err != nil {
				return err
			}
			defer c.Close()
			return use(cmd.Context(), c, args)
		}
	}
	list := func(ctx context.Context, c *client.Client, _ []string) error { return a.listSessions(ctx, c, asJSON) }
	show := func(ctx context.Context, c *client.Client, args []string) error {
		return a.showSession(ctx, c, args[0], asJSON)
	}
	cmd := &cobra.Command{Use: "sessions", Short: "list, show and delete sessions", Args: cobra.NoArgs, RunE: with(list)}
	f.add(cmd.PersistentFlags())
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "list sessions, newest first", Args: cobra.NoArgs, RunE: with(list)},
		&cobra.Command{Use: "show SESSION", Short: "show a session, its terminals, its sub-agents and its items", Args: cobra.ExactArgs(1), RunE: with(show)},
		&cobra.Command{Use: "delete SESSION...", Short: "delete sessions, stopping what runs in them", Args: cobra.MinimumNArgs(1), RunE: with(a.deleteSessions)},
	)
	return cmd
}

func (a *app) listSessions(ctx context.Context, c *client.Client, asJSON bool) error {
	sessions, raw, err := c.Sessions(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return lines(a.out, raw)
	}
	rows := make([][]string, 0, len(sessions))
	for _, s := range sessions {
		rows = append(rows, []string{s.ID, s.Status, s.AgentName, moment(s.UpdatedAt), s.Title})
	}
	return table(a.out, []string{"ID", "STATUS", "AGENT", "UPDATED", "TITLE"}, rows)
}

func (a *app) deleteSessions(ctx context.Context, c *client.Client, ids []string) error {
	for _, id := range ids {
		if err := c.Delete(ctx, id); err != nil {
			return fmt.Errorf("deleting session %s: %w", id, err)
		}
	}
	return nil
}
