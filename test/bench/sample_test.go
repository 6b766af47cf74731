package bench

import (
	"slices"
	"testing"
	"time"
)

// A contestant is one way of doing what a benchmark measures, once.
type contestant struct {
	name   string
	once   func() error
	before func() // not measured; may be nil
}

// compare lets the contestants do it by turns, b.N times each, and reports the
// median and the 99th percentile of each in microseconds. All but the first are
// set in relation to the first.
func compare(b *testing.B, all ...contestant) {
	b.Helper()
	took := make([][]time.Duration, len(all))
	for b.Loop() {
		for i, c := range all {
			if c.before != nil {
				c.before()
			}
			begin := time.Now()
			if err := c.once(); err != nil {
				b.Fatalf("%s: %v", c.name, err)
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	b.ReportMetric(0, "ns/op") // it would be the sum of them all
	report(b, all[0].name, took[0])
	first := percentile(took[0], 50)
	for i, c := range all[1:] {
		report(b, c.name, took[i+1])
		b.ReportMetric(float64(percentile(took[i+1], 50))/float64(first), c.name+"/"+all[0].name+"-p50")
	}
}

func report(b *testing.B, name string, took []time.Duration) {
	b.Helper()
	b.ReportMetric(micros(percentile(took, 50)), name+"-p50-us")
	b.ReportMetric(micros(percentile(took, 99)), name+"-p99-us")
}

// percentile sorts what it is given.
func percentile(took []time.Duration, p int) time.Duration {
	slices.Sort(took)
	return took[min(len(took)*p/100, len(took)-1)]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
