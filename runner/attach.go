package runner

import (
	"context"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/outrunner/outrunner/runner/wire"
)

// Why an attach ends before it has begun (terminals.md 3.4).
var (
	noSuchTerminal = wire.Detached{Code: 4404, Reason: "terminal resource not found or not running"}
	noSuchChannel  = wire.Detached{Code: 1000}
	attachCrashed  = wire.Detached{Code: 1011, Reason: "runner dispatch failed"}
)

// Attach serves one viewer of a terminal: a channel that the server opened with
// this decoded path and raw query (terminals.md 3). It returns when either has
// ended; the caller closes the channel with what it returns, unless ctx, the
// life of the connection, is over. Terminals outlive their viewers.
func (r *Runner) Attach(ctx context.Context, path, query string, viewer wire.Viewer) (why wire.Detached) {
	parts := strings.Split(path, "/")
	if len(parts) != 8 || parts[0] != "" || parts[1] != "v1" || parts[2] != "sessions" || parts[3] == "" ||
		parts[4] != "resources" || parts[5] != "terminals" || parts[6] == "" || parts[7] != "attach" {
		return noSuchChannel
	}
	if r.terminals.port == nil {
		return noSuchTerminal
	}
	defer r.active.enter()() // a runner that somebody looks at has work
	defer func() {
		if broken := recover(); broken != nil {
			r.log.Error("a viewer of a terminal broke", "session", parts[3], "terminal", parts[6],
				"error", fmt.Sprint(broken), "stack", string(debug.Stack()))
			why = attachCrashed
		}
	}()
	return r.terminals.port.Attach(ctx, parts[3], parts[6], viewer, readOnly(query))
}

// readOnly tells whether a viewer may only read. Whatever is not clearly a "no"
// is a "yes".
func readOnly(query string) bool {
	values, _ := url.ParseQuery(query) // what is no pair names nothing
	for _, value := range values["read_only"] {
		switch strings.ToLower(value) {
		case "false", "0", "off", "f", "n", "no":
		default:
			return true
		}
	}
	return false
}
