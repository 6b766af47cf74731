package client

import (
	"context"
	"time"
)

// quietLimit is how long a turn may not begin before somebody asks why.
const quietLimit = time.Second

// fill prints what of the answer is stored and was not shown.
func (f *Follower) fill(ctx context.Context, response string) error {
	items, _, err := f.Client.Items(ctx, f.Session, f.Item)
	if err != nil {
		return err
	}
	for n := range items {
		if i := &items[n]; response == "" || i.ResponseID == response {
			f.transcript.item(i)
		}
	}
	return nil
}

// resync finds out from the session itself what the stream cannot tell any
// more. Its answer is the turn's end, if that is over.
func (f *Follower) resync(ctx context.Context) (*End, error) {
	session, _, err := f.Client.Session(ctx, f.Session)
	if err != nil {
		return nil, err
	}
	if session.Waits(f.Item) {
		return nil, nil
	}
	if f.turn.response == "" {
		// Not ours, if other turns wait before it; then its end corrects it.
		f.turn.response = session.ActiveResponse
	}
	f.turn.active = f.turn.response != "" && f.turn.response == session.ActiveResponse
	if session.ActiveResponse != "" {
		return nil, f.fill(ctx, f.turn.response)
	}
	items, _, err := f.Client.Items(ctx, f.Session, f.Item)
	if err != nil {
		return nil, err
	}
	var end *End
	for n := range items {
		i := &items[n]
		if f.turn.response != "" && i.ResponseID != f.turn.response || i.Type == "message" && i.Role == "user" {
			continue
		}
		if end == nil {
			end = &End{Outcome: Completed, Response: i.ResponseID}
		}
		if i.Type == "error" {
			end.Outcome, end.Error = Failed, &Error{Code: i.Code, Message: i.Message}
		}
		f.transcript.item(i)
	}
	return end, nil
}

// tellWhoIsAway says why nothing comes, if nothing does for a while.
func (f *Follower) tellWhoIsAway(ctx context.Context) {
	quiet := f.Quiet
	if quiet <= 0 {
		quiet = quietLimit
	}
	if f.Notice == nil || pause(ctx, quiet) != nil {
		return
	}
	session, _, err := f.Client.Session(ctx, f.Session)
	switch {
	case err != nil: // the stream has the same trouble, and will say so
	case session.RunnerID == "":
		f.notice("no runner is connected; the message is stored and will be answered when one is")
	case session.RunnerOnline != nil && !*session.RunnerOnline:
		f.notice("the runner is away; the message is stored and will be answered when it is back")
	}
}
