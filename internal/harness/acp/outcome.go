package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/outrunner/outrunner/internal/harness/keep"
	"github.com/outrunner/outrunner/internal/harness/turn"
	"github.com/outrunner/outrunner/runner/wire"
)

// codeNotFound is how an agent says that there is no such file, or session.
const codeNotFound = -32002

// ending is how the agent ended the turn.
func (r *Run) ending(raw json.RawMessage, err error) wire.TurnEnd {
	r.mu.Lock()
	cancelled := r.cancelled
	r.mu.Unlock()
	var failed *failure
	var reply *acp.RequestError
	switch {
	case errors.As(err, &failed):
		return failed.end
	case errors.As(err, &reply) && cancelled:
		return wire.TurnEnd{Outcome: wire.Cancelled} // some fail a turn that they were asked to end
	case errors.As(err, &reply) && wantsSignIn(err):
		r.mu.Lock()
		s := r.peer
		r.mu.Unlock()
		errors.As(r.signIn(s, err), &failed)
		return failed.end
	case errors.As(err, &reply):
		return turn.Failed(replyCode(reply), replyText(err), "")
	case err != nil:
		return turn.Failed(wire.CodeInternal, fmt.Sprintf("talking with %s: %v", r.cfg.Command[0], err), "")
	}
	var answer struct {
		StopReason string     `json:"stopReason"`
		Usage      *acp.Usage `json:"usage"`
	}
	// An answer of another form is the end of a turn all the same.
	_ = json.Unmarshal(raw, &answer)
	end := wire.TurnEnd{Outcome: wire.Completed}
	switch acp.StopReason(answer.StopReason) {
	case acp.StopReasonCancelled:
		end.Outcome = wire.Cancelled
	case acp.StopReasonRefusal:
		end.Note = "The agent refused to answer."
	case acp.StopReasonMaxTokens:
		end.Note = "The agent stopped at its limit of tokens."
	case acp.StopReasonMaxTurnRequests:
		end.Note = "The agent stopped at its limit of requests in one turn."
	case acp.StopReasonEndTurn:
	default:
		r.Log.Warn("an agent ended a turn for a reason that is not known here", "reason", excerpt(answer.StopReason))
	}
	r.mu.Lock()
	r.usage = answer.Usage
	r.mu.Unlock()
	return end
}

// outcome says how the turn ended: as the agent said, or for the reason why it
// was stopped, or by the program's own end. It runs when the agent is not
// listened to any more.
func (r *Run) outcome(p *keep.Process) wire.TurnEnd {
	if r.noise > 1 {
		r.Log.Warn("lines of an agent were no messages", "lines", r.noise)
	}
	r.mu.Lock()
	end := r.end
	r.mu.Unlock()
	if end == nil {
		r.closeTools()
		quote := ""
		if r.events == 0 {
			quote = r.quote
		}
		stopped := r.Unfinished(p, quote)
		stopped.Usage = r.spent()
		return stopped
	}
	if r.said() {
		r.announce()
	}
	r.closeTools()
	end.Usage = r.spent()
	if r.text {
		end.Note = ""
	}
	return *end
}

// said tells whether the agent has had the prompt.
func (r *Run) said() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prompting
}

// isReply tells whether the agent itself answered with an error.
func isReply(err error) bool {
	var reply *acp.RequestError
	return errors.As(err, &reply)
}

// lostSession tells whether the agent does not know its session any more.
func lostSession(err error) bool {
	var reply *acp.RequestError
	return errors.As(err, &reply) && (reply.Code == codeNotFound || strings.Contains(strings.ToLower(reply.Message), "session not found"))
}

func replyCode(reply *acp.RequestError) string { return strconv.Itoa(reply.Code) }

// replyText is the message of an error of the agent, and what it adds to it.
func replyText(err error) string {
	var reply *acp.RequestError
	if !errors.As(err, &reply) {
		return excerpt(err.Error())
	}
	text := reply.Message
	if text == "" {
		text = "error " + strconv.Itoa(reply.Code)
	}
	if more := detail(reply.Data); more != "" && !strings.Contains(text, more) {
		text += ": " + more
	}
	return keep.WithoutNUL(shorten(text, 2000))
}

// detail is the text in an error's data, wherever agents put it.
func detail(data any) string {
	switch d := data.(type) {
	case string:
		return d
	case map[string]any:
		for _, key := range []string{"details", "message", "error", "reason"} {
			if text, ok := d[key].(string); ok && text != "" {
				return text
			}
		}
	}
	return ""
}
