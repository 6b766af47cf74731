package terminal

import (
	"context"
	"errors"

	"github.com/outrunner/outrunner/internal/terminal/screen"
	"github.com/outrunner/outrunner/runner/wire"
)

func (t *terminal) isRunning() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state == running
}

func (t *terminal) isClosing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing
}

// finish tells viewers and typists that the program, or we, are through.
func (t *terminal) finish(end ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.exit = ended, end.exit
	if end.left {
		t.state = left
	}
	close(t.over)
}

// verdict is how a viewer's attach ends when the terminal is over.
func (t *terminal) verdict() wire.Detached {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == left {
		return detachedStop
	}
	return detachedEnded
}

// awaitViewers waits until all viewers have the last screen. Each has its limit.
func (t *terminal) awaitViewers() {
	for {
		t.mu.Lock()
		n := len(t.viewers)
		t.mu.Unlock()
		if n == 0 {
			return
		}
		<-t.viewerLeft
	}
}

// bury clears away what is left of an ended terminal, once.
func (t *terminal) bury(ctx context.Context) error {
	t.mu.Lock()
	before := t.buried
	t.buried = true
	t.mu.Unlock()
	if before || t.folder == nil {
		return nil
	}
	// tmux does not end by itself (T32).
	return errors.Join(t.back.kill(ctx), t.folder.remove())
}

// keepScreen leaves the next runner a picture: tmux does not know all modes that
// a program has set. It is of use if nothing is printed in between.
func (t *terminal) keepScreen() {
	if t.folder == nil {
		return
	}
	defer t.folder.release()
	t.mu.Lock()
	shot := t.model.Snapshot(t.spec.Scrollback, maxSeed)
	t.mu.Unlock()
	if err := t.folder.write(screenFile, shot); err != nil {
		t.log.Warn("screen not kept for the next runner", "err", err)
	}
}

// recallScreen takes the picture of the runner before us, if it shows what tmux
// shows.
func (t *terminal) recallScreen(shot []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	model := screen.New(t.model.Cols(), t.model.Rows(), t.spec.Scrollback)
	model.Write(shot)
	if model.Text(0) == t.model.Text(0) && model.Alternate() == t.model.Alternate() {
		t.model = model
	}
}

// typeAndWait types for somebody who is no viewer.
func (t *terminal) typeAndWait(ctx context.Context, k keystroke) error {
	k.done = make(chan error, 1)
	if err := t.typing.put(ctx, k); err != nil {
		return t.typingError(err)
	}
	select {
	case err := <-k.done:
		return t.typingError(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *terminal) typingError(err error) error {
	if errors.Is(err, errEnded) || errors.Is(err, errGone) {
		return missing(t.describe().ID())
	}
	return err
}
