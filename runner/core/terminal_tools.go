package core

import "github.com/outrunner/outrunner/runner/wire"

// The tools for an agent that declares terminals (terminals.md 2.3).
const (
	toolTermLaunch = "sys_terminal_launch"
	toolTermSend   = "sys_terminal_send"
	toolTermRead   = "sys_terminal_read"
	toolTermList   = "sys_terminal_list"
	toolTermClose  = "sys_terminal_close"
)

func isTerminalTool(name string) bool {
	switch name {
	case toolTermLaunch, toolTermSend, toolTermRead, toolTermList, toolTermClose:
		return true
	}
	return false
}

// may tells whether an agent may use a tool on this runner.
func (c *Core) may(spec *wire.Spec, tool string) bool {
	if isTerminalTool(tool) {
		return c.cfg.Terminals && len(spec.Terminals) > 0
	}
	return surface(spec, tool)
}

// toolsOf are the tools that an agent may use on this runner.
func (c *Core) toolsOf(spec *wire.Spec) []Tool {
	var list []Tool
	for _, t := range append(Toolbox(spec.Agents), terminalTools(spec)...) {
		if c.may(spec, t.Name) {
			list = append(list, t)
		}
	}
	return list
}

// terminalTools describes the tools to an agent that declares these terminals.
func terminalTools(spec *wire.Spec) []Tool {
	which := func() map[string]any { return text("Which terminal, by the name that is declared for you.") }
	declared := which()
	var names []string
	for _, d := range spec.Terminals {
		names = append(names, d.Name)
	}
	declared["enum"] = names
	key := func() map[string]any {
		return text("Your name for this one of them, such as s1: each name is a terminal of its own.")
	}
	return []Tool{
		tool(toolTermLaunch, "Start a terminal, or find it running. Do this before you send to it or read it, and close it when you are done.",
			map[string]any{
				"terminal": declared, "session": key(),
				"cwd":     text("The folder to start in, where the terminal allows to choose: its own, or one below."),
				"sandbox": map[string]any{"type": "string", "enum": []string{"none", "linux_bwrap"}, "description": "The kind of sandbox, where the terminal allows to choose."},
			}, "terminal", "session"),
		tool(toolTermSend, "Type into a terminal that runs.", map[string]any{
			"terminal": which(), "session": key(),
			"text": text("What to type, as it is."),
			"keys": text("The keys to press after it, by tmux's names, with spaces between them: Enter, C-c, Up. Enter when it is left out; empty for none."),
		}, "terminal", "session"),
		tool(toolTermRead, "Read what a terminal shows.", map[string]any{
			"terminal": which(), "session": key(),
			"scrollback": number("How many lines of its history to read, too; none when it is left out.", 0, 1_000_000),
		}, "terminal", "session"),
		tool(toolTermList, "List your terminals.", nil),
		tool(toolTermClose, "End a terminal and what runs in it.", map[string]any{"terminal": which(), "session": key()}, "terminal", "session"),
	}
}
