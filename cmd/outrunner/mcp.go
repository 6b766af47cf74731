package main

import (
	"errors"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/outrunner/outrunner/internal/config"
	"github.com/outrunner/outrunner/internal/mcp"
)

func (a *app) mcpCommand() *cobra.Command {
	var session, socket string
	cmd := &cobra.Command{
		Use: "mcp", Short: "show the runner's tools to an agent, as an MCP server", Args: cobra.NoArgs,
		Long: `Speaks the Model Context Protocol on standard input and output. Give it to any
agent that can use an MCP server: it can then hand tasks to its sub-agents, read
their results, and see what other sessions do. A program that a runner started
needs no flags; of any other, --session says on whose behalf it calls.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if session == "" {
				return usage(errors.New("which session calls the tools? Give it with --session; outrunner sessions lists them"))
			}
			if socket == "" {
				socket = toolSocket(filepath.Join(a.state, config.RunnerRoom))
			}
			bridge := mcp.Bridge{Socket: socket, Session: session, Version: version()}
			return bridge.Serve(cmd.Context(), &sdk.StdioTransport{})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&session, "session", "", "the `id` of the session that calls")
	flags.StringVar(&socket, "socket", "", "the runner's tools `socket` (default: the one in the state directory)")
	return cmd
}
