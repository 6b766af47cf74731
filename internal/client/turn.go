package client

// Outcomes of a turn.
const (
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// End is how the turn of a message ended.
type End struct {
	Outcome  string
	Response string // its response id, "" when there was none
	Error    *Error // of a failed turn; nil when the server did not say
}

// turn picks the events that belong to the turn of one item.
type turn struct {
	item string
	// response is the item's, once it is known.
	response string
	// active is whether what the stream brings now belongs to it.
	active bool
	// guessed: the server does not say which items a response answers, as the
	// upstream one; the first response that begins counts as ours.
	guessed bool
}

// body is what is read of an event.
type body struct {
	Response struct {
		ID         string `json:"id"`
		Error      *Error `json:"error"`
		Incomplete *struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	} `json:"response"`
	InputItemIDs *[]string `json:"input_item_ids"`

	Status     string `json:"status"`
	ResponseID string `json:"response_id"`
	Error      *Error `json:"error"`

	Delta     string  `json:"delta"`
	MessageID *string `json:"message_id"`
	Index     *int64  `json:"index"`

	Item Item `json:"item"`
}

func read(ev Event) (body, error) {
	var b body
	err := decode(ev.Data, &b)
	return b, err
}

// take looks at an event and returns the end when it is that. After it, active
// says whether the event is of our turn.
func (t *turn) take(ev Event, b *body) *End {
	switch ev.Type {
	case "response.created", "response.in_progress":
		t.active = t.ours(b)
		if t.active {
			t.response = b.Response.ID
		}
	case "response.completed", "response.failed", "response.cancelled", "response.incomplete":
		if b.handedOn() {
			// The runner died in the turn, and another response goes on with it.
			if b.Response.ID == t.response {
				t.response, t.active = "", false
			}
			return nil
		}
		if !t.ours(b) {
			t.active = false
			return nil
		}
		return t.end(ev.Type, b)
	case "session.status":
		return t.status(b)
	}
	return nil
}

// handedOn says that the response ended because another one took its messages.
func (b *body) handedOn() bool {
	return b.Response.Incomplete != nil && b.Response.Incomplete.Reason == "runner_restarted"
}

func (t *turn) ours(b *body) bool {
	if t.response != "" && b.Response.ID == t.response {
		return true
	}
	if b.InputItemIDs == nil {
		if t.response == "" {
			t.guessed = true
		}
		return t.response == ""
	}
	for _, id := range *b.InputItemIDs {
		if id == t.item {
			return true
		}
	}
	return false
}

func (t *turn) end(typ string, b *body) *End {
	end := &End{Response: b.Response.ID}
	switch typ {
	case "response.completed":
		end.Outcome = Completed
	case "response.cancelled":
		end.Outcome = Cancelled
	default:
		end.Outcome, end.Error = Failed, b.Response.Error
		if end.Error == nil {
			end.Error = b.Error
		}
	}
	return end
}

// status ends a turn that has no response to end it: its message was refused,
// or the server is one that only tells the session's state.
func (t *turn) status(b *body) *End {
	switch {
	case b.Status == "failed" && b.Error != nil && (b.Error.ItemID == t.item || t.response == "" && b.Error.Code == "runner_rejected_event"):
		return &End{Outcome: Failed, Error: b.Error, Response: t.response}
	case !t.guessed || !t.active:
		return nil
	case b.Status == "failed" && (b.Error == nil || b.Error.Code != "runner_disconnected"):
		return &End{Outcome: Failed, Error: b.Error, Response: t.response}
	case b.Status == "idle", b.Status == "waiting":
		return &End{Outcome: Completed, Response: t.response}
	}
	return nil
}
