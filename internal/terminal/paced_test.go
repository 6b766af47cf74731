package terminal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// pipeViewer is a viewer whose messages the test says and hears.
type pipeViewer struct {
	says  chan string
	hears chan int
}

func (p pipeViewer) Read(ctx context.Context) ([]byte, bool, error) {
	select {
	case text := <-p.says:
		return []byte(text), true, nil
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
}

func (p pipeViewer) Write(_ context.Context, data []byte, _ bool) error {
	p.hears <- len(data)
	return nil
}

func TestPacedViewer(t *testing.T) {
	port := pipeViewer{says: make(chan string, 10), hears: make(chan int, 100)}
	v := Paced(port)
	piece := make([]byte, paceWindow)
	for range 3 { // nobody says what is taken, so nobody waits
		require.NoError(t, v.Write(t.Context(), piece, false))
	}
	read := func(want string) {
		data, text, err := v.Read(t.Context())
		require.NoError(t, err)
		require.True(t, text)
		require.Equal(t, want, string(data))
	}
	port.says <- `{"type":"taken","bytes":0}`
	port.says <- `{"type":"resize","cols":3,"rows":4}`
	read(`{"type":"resize","cols":3,"rows":4}`)
	full, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("full"))
	require.EqualError(t, v.Write(full, []byte("x"), false), "full")

	written := make(chan error, 1)
	go func() { written <- v.Write(t.Context(), []byte("x"), false) }()
	port.says <- fmt.Sprintf(`{"type":"taken","bytes":%d}`, 2*paceWindow)
	port.says <- `next`
	read("next")
	require.EqualError(t, v.Write(full, []byte("x"), false), "full", "a whole window is on its way")
	port.says <- fmt.Sprintf(`{"type":"taken","bytes":%d}`, 2*paceWindow+1)
	port.says <- `{"type":"taken","bytes":5}` // an old one
	port.says <- `last`
	read("last")
	require.NoError(t, <-written)
	port.says <- `{"type":"taken","bytes":9000000000}` // more than there was
	port.says <- `end`
	read("end")
	require.NoError(t, v.Write(t.Context(), make([]byte, paceWindow), false))
	require.EqualError(t, v.Write(full, []byte("x"), false), "full")
}
