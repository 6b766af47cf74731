package agentspec

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

// fetches serves one bundle and counts.
type fetches struct {
	mu    sync.Mutex
	body  []byte
	err   error
	count int
}

func (f *fetches) fetch(context.Context, string) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	return io.NopCloser(bytes.NewReader(f.body)), f.err
}

func TestLoaderRemembersByRevisionAndByContent(t *testing.T) {
	one, err := Bundle([]byte(helper))
	require.NoError(t, err)
	f := &fetches{body: one}
	l := &Loader{Fetch: f.fetch, Dir: filepath.Join(t.TempDir(), "agents")}

	a, err := l.Spec(t.Context(), "s1", "agent", "r1")
	require.NoError(t, err)
	b, err := l.Spec(t.Context(), "s2", "agent", "r1")
	require.NoError(t, err)
	require.Same(t, a, b)
	require.Equal(t, 1, f.count)

	c, err := l.Spec(t.Context(), "s1", "agent", "r2")
	require.NoError(t, err)
	require.Same(t, a, c, "same content")
	require.Equal(t, 2, f.count)

	d, err := l.Spec(t.Context(), "s1", "agent", "")
	require.NoError(t, err)
	require.Same(t, a, d)
	require.Equal(t, 3, f.count, "no revision: always fetched")
	require.Len(t, names(t, l.Dir), 1)

	f.body, err = Bundle([]byte("name: other"))
	require.NoError(t, err)
	e, err := l.Spec(t.Context(), "s1", "agent", "r3")
	require.NoError(t, err)
	require.Equal(t, "other", e.Name)
	require.DirExists(t, a.Dir)
	require.NotEqual(t, a.Dir, e.Dir)
}

func TestLoaderForgetsFailures(t *testing.T) {
	f := &fetches{err: wire.ErrNotFound}
	l := &Loader{Fetch: f.fetch, Dir: t.TempDir()}
	_, err := l.Spec(t.Context(), "s", "agent", "r")
	require.ErrorIs(t, err, wire.ErrNotFound)
	require.ErrorContains(t, err, "session s")

	f.err, f.body = nil, []byte("no bundle")
	_, err = l.Spec(t.Context(), "s", "agent", "r")
	require.ErrorIs(t, err, wire.ErrRejected)
	require.Empty(t, names(t, l.Dir))

	f.body, err = Bundle([]byte(helper))
	require.NoError(t, err)
	_, err = l.Spec(t.Context(), "s", "agent", "r")
	require.NoError(t, err)
}

func TestLoaderNeverFollowsAFolderThatItDidNotFill(t *testing.T) {
	body, err := Bundle([]byte(helper))
	require.NoError(t, err)
	dir := t.TempDir()
	first := &Loader{Fetch: (&fetches{body: body}).fetch, Dir: dir}
	spec, err := first.Spec(t.Context(), "s", "agent", "r")
	require.NoError(t, err)

	// A crash left half a folder and changed a whole one.
	require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "config.yaml"), []byte("name: evil"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".partial-1"), 0o700))
	second := &Loader{Fetch: (&fetches{body: body}).fetch, Dir: dir}
	spec, err = second.Spec(t.Context(), "s", "agent", "r")
	require.NoError(t, err)
	require.Equal(t, "helper", spec.Name)
	require.Len(t, names(t, dir), 1)
}

func TestLoaderTriesAgainAfterABadStart(t *testing.T) {
	body, err := Bundle([]byte(helper))
	require.NoError(t, err)
	blocked := filepath.Join(t.TempDir(), "agents")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	l := &Loader{Fetch: (&fetches{body: body}).fetch, Dir: blocked}
	_, err = l.Spec(t.Context(), "s", "agent", "r")
	require.ErrorContains(t, err, "agents folder")
	require.NoError(t, os.Remove(blocked))
	_, err = l.Spec(t.Context(), "s", "agent", "r")
	require.NoError(t, err)
}

func TestLoaderFetchesOnceForManySessions(t *testing.T) {
	body, err := Bundle([]byte(helper))
	require.NoError(t, err)
	var count atomic.Int32
	var waiting sync.WaitGroup
	entered, release := make(chan struct{}, 2), make(chan struct{})
	l := &Loader{Dir: t.TempDir(), Fetch: func(context.Context, string) (io.ReadCloser, error) {
		entered <- struct{}{}
		<-release
		if count.Add(1) == 1 {
			return nil, errors.New("connection reset") // the first one's trouble stays its own
		}
		return io.NopCloser(bytes.NewReader(body)), nil
	}}
	var failed atomic.Int32
	for range 20 {
		waiting.Go(func() {
			if _, err := l.Spec(context.Background(), "s", "agent", "r"); err != nil {
				failed.Add(1)
			}
		})
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	<-entered // so the next one has somebody to wait for
	_, err = l.Spec(gone, "s", "agent", "r")
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	waiting.Wait()
	require.EqualValues(t, 1, failed.Load())
	require.EqualValues(t, 2, count.Load())
}
