//go:build interop

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/outrunner/outrunner/test/interop/peer"
)

var pairings = []peer.Pairing{peer.OurRunnerTheirServer, peer.TheirRunnerOurServer, peer.TheirClientOurServer, peer.OursAlone}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1) //nolint:forbidigo // main ends the process
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("give the file of results")
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	var flows []string
	cells := map[string]map[peer.Pairing]peer.Result{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r peer.Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("reading the results: %w", err)
		}
		if cells[r.Flow] == nil {
			flows, cells[r.Flow] = append(flows, r.Flow), map[peer.Pairing]peer.Result{}
		}
		cells[r.Flow][r.Pairing] = r
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the results: %w", err)
	}
	slices.Sort(flows)
	var rows strings.Builder
	header := []string{"flow"}
	for _, p := range pairings {
		header = append(header, string(p))
	}
	fmt.Fprintln(&rows, strings.Join(header, "\t"))
	for _, flow := range flows {
		row := []string{flow}
		for _, p := range pairings {
			row = append(row, cell(cells[flow], p))
		}
		fmt.Fprintln(&rows, strings.Join(row, "\t"))
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, rows.String()); err != nil {
		return err
	}
	return table.Flush()
}

func cell(row map[peer.Pairing]peer.Result, p peer.Pairing) string {
	r, ok := row[p]
	if !ok {
		return ""
	}
	text := "FAIL"
	if r.OK {
		text = "ok"
	}
	text += fmt.Sprintf(" %.1f s", r.Seconds)
	if r.Note != "" {
		text += " (" + r.Note + ")"
	}
	return text
}
