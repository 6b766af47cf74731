package main

import (
	"github.com/spf13/cobra"
)

func (a *app) agentsCommand() *cobra.Command {
	var f connectFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "agents", Short: "list the agents of a server", Args: cobra.NoArgs,
		Long: `Lists what can answer. A server has the agent "shell", and one for each YAML file
in the folder agents of its state directory.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(f)
			if err != nil {
				return err
			}
			defer c.Close()
			agents, raw, err := c.Agents(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return lines(a.out, raw)
			}
			rows := make([][]string, 0, len(agents))
			for _, g := range agents {
				rows = append(rows, []string{g.Name, g.Harness, g.ID})
			}
			return table(a.out, []string{"NAME", "HARNESS", "ID"}, rows)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}
