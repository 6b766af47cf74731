package server

import (
	"context"

	"github.com/outrunner/outrunner/internal/server/store"
)

// The states of a child's newest task, as its parent's runner reads them.
const (
	taskInProgress = "in_progress"
	taskCompleted  = "completed"
	taskFailed     = "failed"
	taskCancelled  = "cancelled"
)

// taskState is a session's current_task_status, "" before its first task. A
// message that was accepted is a task, before any runner has begun with it: a
// runner that lost its memory would else take the outcome of the task before
// for that of this one.
func taskState(ses *store.Session, pending bool) string {
	switch {
	case inTurn(ses.Status), pending, ses.Outcome == store.OutcomeOpen:
		return taskInProgress
	case ses.Status == statusFailed:
		return taskFailed
	}
	return ses.Outcome
}

// beginTask notes a message that was accepted. The caller saves the session.
func beginTask(ses *store.Session, i *store.Item) {
	ses.Outcome = store.OutcomeOpen
	seedTitle(ses, i)
}

// seedTitle names a session by its first message. A child's title is the name
// under which its parent finds it, so nobody else gives it one.
func seedTitle(ses *store.Session, i *store.Item) {
	if ses.Title == "" && ses.ParentID == "" && isUserMessage(i) {
		ses.Title = messageTitle(i)
	}
}

// taskOutcome is how a task ended of which a response ended so.
func taskOutcome(response string) string {
	switch response {
	case taskFailed, taskCancelled:
		return response
	}
	return taskCompleted // an incomplete answer is one
}

// endTask notes how the newest task ended, unless one waits behind it. The
// caller saves the session.
func endTask(ctx context.Context, tx *store.Tx, ses *store.Session, response string) error {
	pending, err := tx.HasPending(ctx, ses.ID)
	if err != nil {
		return err
	}
	ses.Outcome = taskOutcome(response)
	if pending {
		ses.Outcome = store.OutcomeOpen
	}
	return nil
}

// settleTask notes what a new status says of the newest task. Where responses
// tell how turns end, it says nothing new; a session in a terminal has none. The
// caller saves the session.
func settleTask(ctx context.Context, tx *store.Tx, ses *store.Session, ch statusChange) error {
	switch ch.status {
	case statusRunning:
		if ses.Status != statusRunning {
			ses.Outcome = store.OutcomeOpen
		}
		return nil
	case statusFailed:
		return endTask(ctx, tx, ses, taskFailed)
	case statusIdle:
	default:
		return nil
	}
	ended := inTurn(ses.Status) && ses.Outcome == store.OutcomeOpen
	if !ended && !ch.external {
		return nil
	}
	switch how := text(ch.extra["turn_outcome"]); {
	case how == taskFailed, how == taskCancelled:
		return endTask(ctx, tx, ses, how)
	case ch.lost:
		return endTask(ctx, tx, ses, taskCancelled)
	}
	return endTask(ctx, tx, ses, taskCompleted)
}
