package agentspec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/outrunner/outrunner/runner/wire"
)

// Loader turns a session's agent into its tree: it fetches the bundle, unpacks
// it and remembers the tree. It implements the runner's Specs port.
//
// Trees are remembered by (agent, revision) and by the hash of the bundle, for
// the life of the Loader: bundles with the same content share one folder, and
// a call without a revision always fetches. A failure is never remembered.
// Folders that an earlier process left are removed at the first use, so a
// folder in use was always unpacked, to its end, by this Loader.
//
// Specs are shared between callers and must not be changed.
type Loader struct {
	// Fetch opens a session's bundle. wire.ErrNotFound means that the session
	// has no agent.
	Fetch func(ctx context.Context, session string) (io.ReadCloser, error)
	// Dir is where bundles are unpacked. It belongs to the Loader alone.
	Dir string

	mu       sync.Mutex
	prepared bool
	byKey    map[string]*wire.Spec
	byHash   map[string]*wire.Spec
	loading  map[string]chan struct{} // closed when that load is over
}

// Spec returns the tree of a session's agent.
func (l *Loader) Spec(ctx context.Context, session, agentID, revision string) (*wire.Spec, error) {
	if err := l.prepare(); err != nil {
		return nil, err
	}
	if revision == "" {
		return l.load(ctx, session)
	}
	key := agentID + "\x00" + revision
	for {
		spec, other, done := l.claim(key)
		switch {
		case spec != nil:
			return spec, nil
		case other == nil:
			spec, err := l.load(ctx, session)
			done(spec)
			return spec, err
		}
		// Sessions that start together mostly have the same agent: whoever
		// waited finds it done. A failed load is the next one's to repeat,
		// under its own context.
		select {
		case <-other:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting to load the agent of session %s: %w", session, ctx.Err())
		}
	}
}

// claim returns the known tree, or a channel to wait on while somebody else
// loads it, or neither: then the caller loads it, and says done.
func (l *Loader) claim(key string) (spec *wire.Spec, other <-chan struct{}, done func(*wire.Spec)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if spec := l.byKey[key]; spec != nil {
		return spec, nil, nil
	}
	if loading, ok := l.loading[key]; ok {
		return nil, loading, nil
	}
	over := make(chan struct{})
	l.loading[key] = over
	return nil, nil, func(spec *wire.Spec) {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.loading, key)
		if spec != nil {
			l.byKey[key] = spec
		}
		close(over)
	}
}

func (l *Loader) load(ctx context.Context, session string) (spec *wire.Spec, err error) {
	defer func() {
		if err != nil {
			spec, err = nil, fmt.Errorf("loading the agent of session %s: %w", session, err)
		}
	}()
	body, err := l.Fetch(ctx, session)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // read to its end, or failed already
	content := hashed{r: body, sum: sha256.New()}
	partial, err := unpack(&content, l.Dir)
	if err != nil {
		return nil, err
	}
	name := hex.EncodeToString(content.sum.Sum(nil))
	l.mu.Lock()
	defer l.mu.Unlock()
	if spec := l.byHash[name]; spec != nil {
		return spec, os.RemoveAll(partial)
	}
	spec, err = settle(partial, filepath.Join(l.Dir, name))
	if err != nil {
		return nil, err
	}
	l.byHash[name] = spec
	return spec, nil
}

// prepare empties Dir at the first use that succeeds.
func (l *Loader) prepare() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.prepared {
		return nil
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return fmt.Errorf("making the agents folder: %w", err)
	}
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return fmt.Errorf("reading the agents folder: %w", err)
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(l.Dir, e.Name())))
	}
	if err != nil {
		return fmt.Errorf("clearing the agents folder: %w", err)
	}
	l.byKey, l.byHash = map[string]*wire.Spec{}, map[string]*wire.Spec{}
	l.loading = map[string]chan struct{}{}
	l.prepared = true
	return nil
}

// hashed takes the sum of what is read through it.
type hashed struct {
	r   io.Reader
	sum hash.Hash
}

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	_, _ = h.sum.Write(p[:n]) // a hash never fails
	return n, err
}
