package guard

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fake is a family whose program ends at a step, and whose rest ends at
// another; Running means by itself.
type fake struct {
	programAt, restAt Step

	begun   time.Time
	reached [Kill + 2]chan struct{} // closed when a step is sent

	mu   sync.Mutex
	sent []sent
}

type sent struct {
	after time.Duration
	step  Step
}

func newFake(program, rest Step) *fake {
	f := &fake{programAt: program, restAt: rest, begun: time.Now()}
	for i := range f.reached {
		f.reached[i] = make(chan struct{})
	}
	close(f.reached[Running])
	return f
}

func (f *fake) send(s Step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.sent); n > 0 && f.sent[n-1].step == s {
		return // one more round of kills
	}
	f.sent = append(f.sent, sent{time.Since(f.begun), s})
	close(f.reached[s])
}

func (f *fake) reap(exited func(End)) {
	<-f.reached[f.programAt]
	exited(End{Code: 7})
	<-f.reached[f.restAt]
}

func (f *fake) left() int { return 3 }

func TestLadder(t *testing.T) {
	const interruptGrace, terminateGrace = 2 * time.Second, time.Second
	never := Kill + 1
	tests := map[string]struct {
		program, rest Step
		order         Step // given after 10 s; Kill+1: the runner dies instead
		sent          []sent
		end           End
		took          time.Duration
	}{
		"it ends by itself": {
			Running, Running, 0,
			[]sent{{0, Terminate}}, End{Code: 7}, 0,
		},
		"background jobs hear terminate": {
			Running, Terminate, 0,
			[]sent{{0, Terminate}}, End{Code: 7}, 0,
		},
		"background jobs hear nothing": {
			Running, Kill, 0,
			[]sent{{0, Terminate}, {terminateGrace, Kill}}, End{Code: 7}, terminateGrace,
		},
		"it hears the interrupt": {
			Interrupt, Interrupt, Interrupt,
			[]sent{{10 * time.Second, Interrupt}, {10 * time.Second, Terminate}}, End{Code: 7, Step: Interrupt}, 10 * time.Second,
		},
		"it hears terminate": {
			Terminate, Terminate, Interrupt,
			[]sent{{10 * time.Second, Interrupt}, {12 * time.Second, Terminate}}, End{Code: 7, Step: Terminate}, 12 * time.Second,
		},
		"it hears nothing": {
			Kill, Kill, Interrupt,
			[]sent{{10 * time.Second, Interrupt}, {12 * time.Second, Terminate}, {13 * time.Second, Kill}}, End{Code: 7, Step: Kill}, 13 * time.Second,
		},
		"killed at once": {
			Kill, Kill, Kill,
			[]sent{{10 * time.Second, Kill}}, End{Code: 7, Step: Kill}, 10 * time.Second,
		},
		"the runner dies": {
			Kill, Kill, never,
			[]sent{{10 * time.Second, Terminate}, {11 * time.Second, Kill}}, End{Code: 7, Step: Kill}, 11 * time.Second,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(tt.program, tt.rest)
				steps := make(chan Step, 1)
				if tt.order != 0 {
					time.AfterFunc(10*time.Second, func() {
						if tt.order == never {
							close(steps)
						} else {
							steps <- tt.order
						}
					})
				}
				end := descend(f, &start{InterruptGrace: interruptGrace, TerminateGrace: terminateGrace}, steps)
				require.Equal(t, tt.end, end)
				require.Equal(t, tt.sent, f.sent)
				require.Equal(t, tt.took, time.Since(f.begun))
			})
		})
	}
}

func TestWhoCannotBeKilledIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(Kill+1, Running)
		steps := make(chan Step, 1)
		steps <- Kill
		end := descend(f, &start{InterruptGrace: time.Second, TerminateGrace: time.Second}, steps)
		require.Equal(t, End{Left: 3}, end)
		require.WithinDuration(t, f.begun.Add(KillLimit), time.Now(), 2*killEvery)
		close(f.reached[Kill+1]) // let its reaper go
	})
}
