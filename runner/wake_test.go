package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/core"
	"github.com/outrunner/outrunner/runner/wire"
)

// reluctant is a server that takes a message only after some answers.
type reluctant struct {
	Server
	answers []error
	came    []time.Duration
	began   time.Time
}

func (r *reluctant) Message(context.Context, string, string) error {
	r.came = append(r.came, time.Since(r.began))
	err := r.answers[0]
	r.answers = r.answers[1:]
	return err
}

// Rows S108 to S110: what may pass is tried three times, what was refused for
// good is not.
func TestWakeIsTriedAFewTimes(t *testing.T) {
	boom := errors.New("503")
	for name, c := range map[string]struct {
		answers []error
		came    []time.Duration
		want    error
	}{
		"at once":          {[]error{nil}, []time.Duration{0}, nil},
		"at the second":    {[]error{boom, nil}, []time.Duration{0, 500 * time.Millisecond}, nil},
		"never":            {[]error{boom, boom, boom}, []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond}, boom},
		"a conflict":       {[]error{wire.ErrConflict, nil}, []time.Duration{0, 500 * time.Millisecond}, nil},
		"refused for good": {[]error{wire.ErrRejected}, []time.Duration{0}, wire.ErrRejected},
		"not there":        {[]error{wire.ErrNotFound}, []time.Duration{0}, wire.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := &reluctant{answers: c.answers, began: time.Now()}
				d := &driver{r: &Runner{cfg: Config{Server: srv}}}
				require.ErrorIs(t, d.postWake(t.Context(), core.PostWake{Session: "P", Text: "wake"}), c.want)
				require.Equal(t, c.came, srv.came)
			})
		})
	}
}
