package acp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/coder/acp-go-sdk"

	"github.com/outrunner/outrunner/internal/harness/keep"
)

// converse does our part of a turn, from the handshake to the answer to the
// prompt. When the program is gone, or about to be, how the turn ended is not
// for it to say.
func (r *Run) converse(ctx context.Context, s *peer) {
	raw, err := r.exchange(ctx, s)
	if errors.Is(err, errGone) {
		return
	}
	end := r.ending(raw, err)
	r.Finish(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.end = &end
		r.spoiled = r.spoiled || !r.prompting && s.sessionID() == ""
	})
}

func (r *Run) exchange(ctx context.Context, s *peer) (json.RawMessage, error) {
	if err := r.open(ctx, s); err != nil {
		return nil, err
	}
	if err := r.choose(ctx, s); err != nil {
		return nil, err
	}
	prompt, err := r.promptOf(s)
	if err != nil {
		return nil, err
	}
	raw, err := request(ctx, s, 0, acp.AgentMethodSessionPrompt,
		acp.PromptRequest{SessionId: acp.SessionId(s.sessionID()), Prompt: prompt},
		func() {
			s.told = true
			r.mu.Lock()
			defer r.mu.Unlock()
			r.prompting = true
		},
		func() { s.release(r) })
	if lostSession(err) {
		// Another process may still load it, or be told the conversation.
		r.mu.Lock()
		r.spoiled = true
		r.mu.Unlock()
	}
	return raw, err
}

func excerpt(text string) string { return keep.Excerpt([]byte(text)) }
