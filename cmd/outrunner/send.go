package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/outrunner/outrunner/internal/client"
)

const (
	defaultAgent = "shell"
	// maxText bounds a message; the server takes 10 MiB with all around it.
	maxText = 9 << 20
)

type sendFlags struct {
	connectFlags
	session, agent, follow string
	asJSON, noWait         bool
}

func (a *app) sendCommand() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use: "send [flags] TEXT", Short: "send a message and print the answer as it comes", Args: cobra.MaximumNArgs(1),
		Long: `Sends TEXT to a session, or to a new one, and prints the answer as it comes. With
"-" the text is read from the standard input.

A lost connection is taken up again. Ctrl-c asks the agent to stop; a second one
leaves it alone and goes. Exit code 0: completed, 1: failed, 3: no server.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.send(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringVar(&f.session, "session", "", "`id` of the session to go on with (default: a new one)")
	flags.StringVar(&f.agent, "agent", defaultAgent, "`name` of the agent of a new session")
	flags.StringVar(&f.follow, "follow", "", "send nothing, print the answer to this `item` of the session")
	flags.BoolVar(&f.asJSON, "json", false, "print session_id and item_id, then each event, as JSON lines")
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait for the answer")
	return cmd
}

func (a *app) send(ctx context.Context, f sendFlags, args []string) error {
	text, err := a.message(f, args)
	if err != nil {
		return usage(err)
	}
	c, err := a.connect(f.connectFlags)
	if err != nil {
		return err
	}
	defer c.Close()
	if f.session == "" {
		if f.session, err = a.newSession(ctx, c, f.agent); err != nil {
			return err
		}
	}
	s := a.newSending(f, c)
	defer s.follower.Close()
	ctx, stop := s.listen(ctx)
	defer stop()
	if f.follow == "" {
		if err := s.follower.Send(ctx, text); err != nil {
			return s.left(err)
		}
	}
	if err := s.begin(); err != nil || f.noWait {
		return err
	}
	end, err := s.follower.Wait(ctx)
	if err != nil {
		return s.left(err)
	}
	return s.finish(end)
}

// message is the text to send.
func (a *app) message(f sendFlags, args []string) (string, error) {
	switch {
	case f.follow != "" && (f.session == "" || len(args) > 0 || f.noWait):
		return "", errors.New("--follow needs --session, and nothing to send")
	case f.follow != "":
		return "", nil
	case len(args) == 0:
		return "", errors.New("nothing to send: give a text, or - to read it from the standard input")
	case args[0] != "-":
		return nonEmpty(args[0])
	}
	text, err := io.ReadAll(io.LimitReader(a.in, maxText+1))
	if err != nil {
		return "", fmt.Errorf("reading the standard input: %w", err)
	}
	return nonEmpty(string(text))
}

func nonEmpty(text string) (string, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return "", errors.New("the text is empty")
	case len(text) > maxText:
		return "", fmt.Errorf("the text is larger than %d bytes", maxText)
	case !utf8.ValidString(text):
		return "", errors.New("the text is not UTF-8")
	}
	return text, nil
}

// newSession makes a session with the agent of that name, or id.
func (a *app) newSession(ctx context.Context, c *client.Client, agent string) (string, error) {
	agents, _, err := c.Agents(ctx)
	if err != nil {
		return "", fmt.Errorf("looking for the agent %s: %w", agent, err)
	}
	names := make([]string, 0, len(agents))
	for _, g := range agents {
		if g.Name == agent || g.ID == agent {
			s, err := c.Create(ctx, g.ID)
			if err != nil {
				return "", fmt.Errorf("making a session: %w", err)
			}
			return s.ID, nil
		}
		names = append(names, g.Name)
	}
	return "", fmt.Errorf("there is no agent %q; there are: %s", agent, strings.Join(names, ", "))
}
