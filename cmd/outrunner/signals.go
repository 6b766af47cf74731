package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilAsked is a context that ends when the process is asked to stop. A
// second request then ends it at once.
func untilAsked(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
