package tunnel

import "time"

const (
	// blockedFlush is how long a flush must have taken to say something about
	// the link's rate: a shorter one was taken by a buffer.
	blockedFlush = 50 * time.Millisecond
	// rateValid is how long such a measurement is believed.
	rateValid = time.Minute
)

// linkRate is the rate at which the connection took bytes when it was the
// bottleneck.
type linkRate struct {
	perSecond float64
	at        time.Duration
}

// add takes one flush of n bytes.
func (r *linkRate) add(now time.Duration, n int, took time.Duration) {
	if took < blockedFlush {
		return
	}
	sample := float64(n) / took.Seconds()
	if r.perSecond > 0 && now-r.at < rateValid {
		sample = (r.perSecond + sample) / 2
	}
	r.perSecond, r.at = sample, now
}

// need returns how long n bytes would take; 0 when the rate is not known.
func (r *linkRate) need(now time.Duration, n int) time.Duration {
	if r.perSecond <= 0 || now-r.at >= rateValid {
		return 0
	}
	return time.Duration(float64(n) / r.perSecond * float64(time.Second))
}
