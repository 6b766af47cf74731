package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/outrunner/outrunner/internal/client"
)

// mainKey is the key of a terminal that attach starts: the same command finds
// it again.
const mainKey = "main"

// findTerminal finds a terminal of a session, or starts it. wanted is an id, a
// name, a name with a key, or nothing.
func findTerminal(ctx context.Context, c *client.Client, session, wanted string) (*client.Terminal, error) {
	running, err := c.Terminals(ctx, session)
	var refused *client.StatusError
	if err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusConflict) { // a session without a runner has none yet
		return nil, fmt.Errorf("looking for the terminals of session %s: %w", session, err)
	}
	for _, t := range running {
		if wanted == "" || t.ID == wanted || t.Name == wanted {
			return &t, nil
		}
	}
	for _, t := range running {
		if t.Metadata.Name == wanted {
			return &t, nil
		}
	}
	agent, err := c.AgentOf(ctx, session)
	if err != nil {
		return nil, fmt.Errorf("looking for the agent of session %s: %w", session, err)
	}
	name, key, _ := strings.Cut(wanted, ":")
	if wanted == "" && len(agent.Terminals) > 0 {
		name = agent.Terminals[0]
	}
	if key == "" {
		key = mainKey
	}
	if !slices.Contains(agent.Terminals, name) {
		return nil, noSuchTerminal(agent, wanted, running)
	}
	t, err := c.StartTerminal(ctx, session, name, key)
	if err != nil {
		return nil, fmt.Errorf("starting the terminal %s: %w", name, err)
	}
	return t, nil
}

func noSuchTerminal(agent *client.Agent, wanted string, running []client.Terminal) error {
	var names []string
	for _, t := range running {
		names = append(names, t.Name)
	}
	for _, name := range agent.Terminals {
		if !slices.ContainsFunc(running, func(t client.Terminal) bool { return t.Metadata.Name == name }) {
			names = append(names, name)
		}
	}
	switch {
	case wanted == "":
		return fmt.Errorf("no terminal runs in this session, and its agent %s declares none (terminals: in its file)", agent.Name)
	case len(names) == 0:
		return fmt.Errorf("there is no terminal %q, nor any other; the agent %s declares none (terminals: in its file)", wanted, agent.Name)
	}
	return fmt.Errorf("there is no terminal %q; there are: %s", wanted, strings.Join(names, ", "))
}
