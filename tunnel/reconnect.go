package tunnel

import (
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// retryClass is what the end of a connection or attempt means for the next.
type retryClass int

const (
	retryEscalate retryClass = iota // wait, longer each time
	retryRecycle                    // planned or harmless: wait the base delay
	retryReplaced                   // another process has our id: stand back
	retryRefused                    // the credentials or the address were refused; fatal if it never worked
	retryFatal                      // dialing again cannot help
)

// classify judges a reason (tunnel.md 10). Only a close code that was received
// counts.
func classify(r Reason) retryClass {
	switch r.Cause {
	case CauseResumed:
		return retryRecycle
	case CauseClosed:
		return classifyClose(r.Code)
	case CauseUpgrade:
		return classifyStatus(r.Code)
	case CauseForeign:
		return retryRefused
	}
	return retryEscalate
}

func classifyClose(code int) retryClass {
	switch code {
	case closeNoHello, closeVersion, closeNotAdmitted, closeFatal:
		return retryFatal
	case closeNormal, closeNoStatus, closeGoingAway, closeRestart:
		return retryRecycle
	case closeReplaced:
		return retryReplaced
	}
	return retryEscalate
}

// classifyStatus judges the status of an upgrade answer. A redirect leads to a
// login page, and is never followed.
func classifyStatus(status int) retryClass {
	switch {
	case status == 401, status == 403, status >= 300 && status < 400:
		return retryRefused
	case status == 502:
		return retryRecycle
	}
	return retryEscalate
}

// schedule gives the delays between attempts. It has no clock: the caller says
// how old the outage is.
type schedule struct {
	timing   Timing
	backoff  *backoff.ExponentialBackOff
	replaced int // times in a row
}

// jitter spreads each delay by this share to both sides.
const jitter = 0.5

func newSchedule(t Timing) *schedule {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(t.RetryBase),
		backoff.WithRandomizationFactor(jitter),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0), // never gives up
	)
	return &schedule{timing: t, backoff: b}
}

// lived takes note of how long a connection was up, and reports whether that
// ended the outage before it: then the next delay is the base again.
func (s *schedule) lived(up time.Duration) bool {
	if up >= s.timing.RetryFast {
		s.replaced = 0 // whoever else had our id is gone
	}
	if up < s.timing.Healthy {
		return false
	}
	s.backoff.Reset()
	return true
}

// delay returns the next delay for an outage of that age.
func (s *schedule) delay(class retryClass, outage time.Duration) time.Duration {
	if class == retryReplaced {
		s.replaced++
		return s.standBack()
	}
	s.replaced = 0
	if class == retryRecycle {
		return spread(s.timing.RetryBase)
	}
	limit := s.timing.RetryCap
	if outage >= s.timing.RetryFast {
		limit = s.timing.RetryCapLate
	}
	// The jitter is inside the cap.
	s.backoff.MaxInterval = time.Duration(float64(limit) / (1 + jitter))
	return min(s.backoff.NextBackOff(), limit)
}

// standBack returns between half and all of a limit that doubles from
// RetryCapLate to six times that. Two processes with one id would otherwise
// throw each other out every second, for ever.
func (s *schedule) standBack() time.Duration {
	limit := s.timing.RetryCapLate << min(s.replaced-1, 3)
	limit = min(limit, 6*s.timing.RetryCapLate)
	return limit/2 + time.Duration(rand.Int64N(int64(limit/2)+1))
}

// spread returns d with jitter.
func spread(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.Int64N(int64(d)+1))
}
