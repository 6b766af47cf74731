package main

import (
	"context"
	"errors"
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
		&cobra.Command{Use: "show SESSION", Short: "show a session and its items", Args: cobra.ExactArgs(1), RunE: with(show)},
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

// showSession prints a session, then what was said in it. As JSON: the session
// in the first line, then an item a line.
func (a *app) showSession(ctx context.Context, c *client.Client, id string, asJSON bool) error {
	s, raw, err := c.Session(ctx, id)
	if err != nil {
		return fmt.Errorf("reading session %s: %w", id, err)
	}
	items, rawItems, err := c.Items(ctx, id, "")
	if err != nil {
		return fmt.Errorf("reading the items of session %s: %w", id, err)
	}
	if asJSON {
		return errors.Join(lines(a.out, append(rawItems[:0:0], raw)), lines(a.out, rawItems))
	}
	rows := [][]string{
		{"agent", s.AgentName}, {"runner", s.RunnerID}, {"workspace", s.Workspace},
		{"created", moment(s.CreatedAt)}, {"updated", moment(s.UpdatedAt)}, {"title", s.Title},
	}
	if s.LastError != nil {
		rows = append(rows, []string{"error", s.LastError.Code + ": " + s.LastError.Message})
	}
	if n := len(s.Pending); n > 0 {
		rows = append(rows, []string{"waiting", fmt.Sprintf("%d messages for a runner", n)})
	}
	if err := table(a.out, []string{s.ID, s.Status}, rows); err != nil {
		return err
	}
	for n := range items {
		if err := a.printItem(&items[n]); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printItem(i *client.Item) error {
	who, text := i.Role, i.Text()
	switch i.Type {
	case "message":
	case "error":
		who, text = "error", i.Code+": "+i.Message
	case "function_call":
		who, text = "call", i.Name+" "+i.Arguments
	case "function_call_output":
		who, text = "output", i.Output
	default:
		return nil
	}
	_, err := fmt.Fprintf(a.out, "\n--- %s, %s\n%s\n", printable(who), moment(i.CreatedAt), text)
	return err
}

func (a *app) deleteSessions(ctx context.Context, c *client.Client, ids []string) error {
	for _, id := range ids {
		if err := c.Delete(ctx, id); err != nil {
			return fmt.Errorf("deleting session %s: %w", id, err)
		}
	}
	return nil
}
