package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outrunner/outrunner/internal/client"
)

// terminalsTimeout bounds the wait for a runner's list of terminals: the rest of
// a session is there without it.
const terminalsTimeout = 3 * time.Second

// showSession prints a session, its terminals, the tree of its sub-agents, then
// what was said in it. As JSON: the session in the first line, then a sub-agent a
// line, then an item a line.
func (a *app) showSession(ctx context.Context, c *client.Client, id string, asJSON bool) error {
	s, raw, err := c.Session(ctx, id)
	if err != nil {
		return fmt.Errorf("reading session %s: %w", id, err)
	}
	tree, rawTree, err := c.Tree(ctx, id)
	if err != nil {
		return err
	}
	items, rawItems, err := c.Items(ctx, id, "")
	if err != nil {
		return fmt.Errorf("reading the items of session %s: %w", id, err)
	}
	if asJSON {
		return errors.Join(lines(a.out, append(rawItems[:0:0], raw)), lines(a.out, rawTree), lines(a.out, rawItems))
	}
	rows := [][]string{{"agent", s.AgentName}, {"runner", s.RunnerID}, {"workspace", s.Workspace}}
	if s.ParentID != "" {
		rows = append(rows, []string{"parent", parentOf(ctx, c, s.ParentID)})
	}
	rows = append(rows, []string{"created", moment(s.CreatedAt)}, []string{"updated", moment(s.UpdatedAt)}, []string{"title", s.Title})
	if s.LastError != nil {
		rows = append(rows, []string{"error", s.LastError.Code + ": " + s.LastError.Message})
	}
	if n := len(s.Pending); n > 0 {
		rows = append(rows, []string{"waiting", fmt.Sprintf("%d messages for a runner", n)})
	}
	if names := runningTerminals(ctx, c, id); names != "" {
		rows = append(rows, []string{"terminals", names})
	}
	if err := table(a.out, []string{s.ID, s.Status}, rows); err != nil {
		return err
	}
	if err := a.printTree(tree); err != nil {
		return err
	}
	for n := range items {
		if err := a.printItem(&items[n]); err != nil {
			return err
		}
	}
	return nil
}

// parentOf is the id of a session's parent, and how that stands: of one that
// cannot be read the id is enough.
func parentOf(ctx context.Context, c *client.Client, id string) string {
	parent, _, err := c.Session(ctx, id)
	if err != nil {
		return id
	}
	words := []string{id, parent.Status, parent.Title}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}

// runningTerminals names the terminals that run in a session, as attach takes
// them. Of a runner that is away, or a server that has no terminals, there is
// nothing to show.
func runningTerminals(ctx context.Context, c *client.Client, session string) string {
	ctx, cancel := context.WithTimeout(ctx, terminalsTimeout)
	defer cancel()
	running, err := c.Terminals(ctx, session)
	if err != nil {
		return ""
	}
	var names []string
	for n := range running {
		names = append(names, running[n].Name)
	}
	return printable(strings.Join(names, ", "))
}

// printTree draws the sub-agents below a session.
func (a *app) printTree(tree []client.Child) error {
	if len(tree) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(a.out, "\nsub-agents, %s:\n", unread(tree)); err != nil {
		return err
	}
	return table(a.out, []string{"SUB-AGENT", "SESSION", "STATE"}, branches(tree, ""))
}

// unread says how many results the session's inbox holds, as the server knows.
func unread(tree []client.Child) string {
	n := 0
	for i := range tree {
		if tree[i].Unread() {
			n++
		}
	}
	if n == 1 {
		return "1 result not read"
	}
	return fmt.Sprintf("%d results not read", n)
}

func branches(tree []client.Child, indent string) (rows [][]string) {
	for n := range tree {
		child := &tree[n]
		branch, below := "├─ ", "│  "
		if n == len(tree)-1 {
			branch, below = "└─ ", "   "
		}
		rows = append(rows, []string{indent + branch + child.Title, child.ID, standing(child)})
		rows = append(rows, branches(child.Children, indent+below)...)
	}
	return rows
}

// standing is how a sub-agent stands, in words.
func standing(child *client.Child) string {
	words := []string{child.Status}
	if child.Status == "" {
		words = []string{"nothing to do yet"}
	}
	if child.Unread() {
		words = append(words, "not read")
	}
	if child.Elicitations > 0 {
		words = append(words, "asks something")
	}
	if child.LastError != nil {
		words = append(words, child.LastError.Code+": "+child.LastError.Message)
	}
	if child.Cut {
		words = append(words, "its own sub-agents are not shown")
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
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
