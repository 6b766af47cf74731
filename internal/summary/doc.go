// Package summary has a language model sum a conversation up, for a server that
// makes room in it (sessions.md 2, POST /v1/summarize). It speaks two wires: the
// chat completions that OpenAI began and most services offer, and Anthropic's
// messages. The conversation is sent as one text, so no rule of a service about
// roles, tool calls or attachments can refuse it.
//
// The keys of this machine are only ever sent to the addresses of this machine's
// environment: a request that names an address of its own brings its own key.
package summary
