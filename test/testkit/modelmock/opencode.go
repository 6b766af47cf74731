package modelmock

import (
	"encoding/json"
	"path/filepath"
)

// OpenCode is the environment in which opencode uses this model, asks before it
// runs a command, and stays offline, with a home folder of its own.
func (s *Server) OpenCode(home string) map[string]string {
	config, err := json.Marshal(map[string]any{
		"model": "mock/" + Model,
		"provider": map[string]any{"mock": map[string]any{
			"npm":     "@ai-sdk/openai-compatible",
			"options": map[string]string{"baseURL": s.URL, "apiKey": "x"},
			"models":  map[string]any{Model: map[string]string{"name": Model}},
		}},
		"permission": map[string]string{"bash": "ask"},
	})
	if err != nil {
		panic(err) // it has only strings
	}
	return map[string]string{
		"HOME":                          home,
		"XDG_CONFIG_HOME":               filepath.Join(home, "config"),
		"XDG_DATA_HOME":                 filepath.Join(home, "data"),
		"XDG_STATE_HOME":                filepath.Join(home, "state"),
		"XDG_CACHE_HOME":                filepath.Join(home, "cache"),
		"OPENCODE_CONFIG_CONTENT":       string(config),
		"OPENCODE_DISABLE_AUTOUPDATE":   "1",
		"OPENCODE_DISABLE_MODELS_FETCH": "1",
	}
}
