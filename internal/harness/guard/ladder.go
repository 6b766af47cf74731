package guard

import "time"

// relatives is a family, as the ladder sees it.
type relatives interface {
	// send does one step to all who are concerned.
	send(Step)
	// reap tells the program's end once, and returns when nobody is left.
	reap(exited func(End))
	// left counts who is left.
	left() int
}

// descend takes the family down the ladder and returns when it is gone. What
// sets it off is a step from the runner, the end of the steps (the runner is
// dead), or the end of the program (the rest has no reason to be).
func descend(f relatives, s *start, steps <-chan Step) End {
	exited, gone, over := make(chan End), make(chan struct{}), make(chan struct{})
	defer close(over)
	go func() {
		defer close(gone)
		f.reap(func(e End) {
			select {
			case exited <- e: // before gone, always
			case <-over:
			}
		})
	}()
	grace := map[Step]time.Duration{Interrupt: s.InterruptGrace, Terminate: s.TerminateGrace, Kill: killEvery}
	next := time.NewTimer(time.Hour)
	next.Stop()
	var (
		end    End
		step   Step
		killed time.Time // when the killing began
	)
	take := func(to Step) {
		if to < step || to == step && to != Kill {
			return
		}
		if step != Kill && to == Kill {
			killed = time.Now()
		}
		step = to
		f.send(step)
		next.Reset(grace[step])
	}
	for {
		select {
		case to, ok := <-steps:
			if !ok {
				steps, to = nil, Terminate
			}
			take(to)
		case end = <-exited:
			end.Step = step
			take(Terminate)
		case <-next.C:
			if step == Kill && time.Since(killed) > KillLimit {
				end.Left = f.left()
				return end
			}
			take(min(step+1, Kill))
		case <-gone:
			return end
		}
	}
}
