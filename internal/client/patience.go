package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// defaultPatience is how long a Follower goes on without a server.
	defaultPatience = 2 * time.Minute
	// retryEvery is the wait between two tries.
	retryEvery = 500 * time.Millisecond
)

// lost decides whether to try again after an error, and waits if so.
func (f *Follower) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !mayPass(err) {
		return err
	}
	patience, retry := f.Patience, f.Retry
	if patience <= 0 {
		patience = defaultPatience
	}
	if retry <= 0 {
		retry = retryEvery
	}
	switch {
	case f.lostAt.IsZero():
		f.lostAt = time.Now()
		f.notice(fmt.Sprintf("the connection is lost, trying again: %v", err))
	case time.Since(f.lostAt) > patience:
		return errors.Join(fmt.Errorf("%w for %s", ErrUnreachable, patience), err)
	}
	return pause(ctx, retry)
}

// pause waits, or until ctx ends; then it returns why.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *Follower) back() {
	if !f.lostAt.IsZero() {
		f.lostAt = time.Time{}
		f.notice("connected again")
	}
}

func (f *Follower) notice(text string) {
	if f.Notice != nil {
		f.noticing.Lock()
		defer f.noticing.Unlock()
		f.Notice(text)
	}
}
