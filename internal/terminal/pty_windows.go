package terminal

import "github.com/outrunner/outrunner/runner/wire"

// startPTY says that there are no terminals here yet.
func startPTY(wire.TerminalSpec, string, []string) (backend, error) {
	return nil, refuse("terminals need tmux, or a system with PTYs: run the runner on Linux or macOS, or in WSL")
}
