package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// runnerRow is a runner in JSON.
type runnerRow struct {
	ID        string   `json:"id"`
	Online    bool     `json:"online"`
	Harnesses []string `json:"harnesses"`
}

func (a *app) runnersCommand() *cobra.Command {
	var f connectFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "runners", Short: "list the runners of a server", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(f)
			if err != nil {
				return err
			}
			defer c.Close()
			runners, err := c.Runners(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				rows := make([]runnerRow, 0, len(runners))
				for _, r := range runners {
					rows = append(rows, runnerRow{r.ID, r.Online, append([]string{}, r.Harnesses...)})
				}
				return lines(a.out, rows)
			}
			rows := make([][]string, 0, len(runners))
			for _, r := range runners {
				state := "offline"
				if r.Online {
					state = "online"
				}
				rows = append(rows, []string{r.ID, state, strings.Join(r.Harnesses, " ")})
			}
			return table(a.out, []string{"ID", "STATE", "HARNESSES"}, rows)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}
