package runner

import "github.com/outrunner/outrunner/runner/wire"

// resource is the one shape of whatever a session has beside its items
// (terminals.md 1.2). The server takes no other key, outside of the metadata.
type resource struct {
	ID          string         `json:"id"`
	Object      string         `json:"object"`
	Type        string         `json:"type"`
	Session     string         `json:"session_id"`
	Name        string         `json:"name"`
	Metadata    map[string]any `json:"metadata"`
	Environment string         `json:"environment,omitempty"` // of a terminal
}

// The types of resources.
const (
	typeTerminal    = "terminal"
	typeEnvironment = "environment"
)

// defaultEnvironment is the id of the environment that a session itself has.
const defaultEnvironment = "default"

func newResource(id, typ, session, name string, metadata map[string]any) resource {
	return resource{ID: id, Object: "session.resource", Type: typ, Session: session, Name: name, Metadata: metadata}
}

func terminalResource(t wire.Terminal) resource {
	r := newResource(t.ID(), typeTerminal, t.Session, t.Name+":"+t.Key, map[string]any{
		"terminal_name": t.Name, "session_key": t.Key, "running": t.Running,
		// For programs on this machine that attach by themselves.
		"tmux_socket": t.Socket, "tmux_target": t.Target,
	})
	r.Environment = t.EnvironmentID()
	return r
}

func terminalEnvironment(t wire.Terminal) resource {
	metadata := map[string]any{
		"environment_type": "caller_process", "role": "terminal", "terminal_name": t.Name, "session_key": t.Key,
	}
	if t.Cwd != "" {
		metadata["root"] = t.Cwd
	}
	return newResource(t.EnvironmentID(), typeEnvironment, t.Session, "Environment for "+t.Name+":"+t.Key, metadata)
}

// primaryEnvironment is where the session's agent works. What it says of a
// sandbox is only known of an agent that is known, and declares it.
func primaryEnvironment(session string, env *wire.OSEnv) resource {
	metadata := map[string]any{"environment_type": "caller_process", "role": "primary"}
	if env != nil {
		kind := env.Sandbox
		if kind == "" {
			kind = wire.NoSandbox
		}
		metadata["sandbox_type"], metadata["sandbox_active"] = kind, kind != wire.NoSandbox
	}
	return newResource(defaultEnvironment, typeEnvironment, session, "Primary environment", metadata)
}

// resourcesOf are the terminals that run, each before its environment.
func resourcesOf(terminals []wire.Terminal) []resource {
	var list []resource
	for _, t := range terminals {
		if t.Running {
			list = append(list, terminalResource(t), terminalEnvironment(t))
		}
	}
	return list
}

func ofType(list []resource, typ string) []resource {
	var out []resource
	for _, r := range list {
		if r.Type == typ {
			out = append(out, r)
		}
	}
	return out
}
