package wire

import "encoding/json"

// SummaryRequest asks for a summary of a conversation (sessions.md 2,
// POST /v1/summarize).
type SummaryRequest struct {
	Messages   []json.RawMessage `json:"messages"` // input items of the Responses API
	Model      string            `json:"model"`    // "provider/model", or a bare name
	Connection ModelConnection   `json:"connection"`
}

// ModelConnection is what an agent's definition says of the service that has
// its model; what is empty is the machine's.
type ModelConnection struct {
	APIKey  string `json:"api_key"`
	BaseURL string `json:"base_url"`
}

// Summary is a conversation in short.
type Summary struct {
	Text   string `json:"text"`
	Tokens int    `json:"token_count"`
}
