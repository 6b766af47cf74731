package tunnel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// order drains s and returns the first byte of each message.
func order(s *sched, open bool) string {
	var out []byte
	for {
		it, _, ok := s.next(open)
		if !ok {
			return string(out)
		}
		out = append(out, it.msg[0])
	}
}

// msg is a message of n bytes that begins with c.
func msg(c byte, n int) item {
	m := make([]byte, n)
	m[0] = c
	return item{msg: m}
}

func TestSchedControlGoesFirst(t *testing.T) {
	var s sched
	var st outStream
	s.put(&st, msg('i', 10), 0)
	s.control = append(s.control, msg('c', 10))
	require.Equal(t, "ci", order(&s, true))
}

func TestSchedInteractiveGoesBeforeBulkButLeavesItAShare(t *testing.T) {
	var s sched
	var a, b outStream
	for range 8 {
		s.put(&b, msg('b', 40<<10), 0) // two of these are a burst
	}
	require.Equal(t, bulk, b.class)
	for i := range 8 {
		// Each message is a turn of its own: the stream is renewed.
		s.put(&a, msg('i', 10), time.Duration(i)*burstSpan)
	}
	require.Equal(t, interactive, a.class)
	require.Equal(t, "iiiiiiii"+"bbbbbbbb", order(&s, true), "eight small messages of one stream are one turn")

	var s2 sched
	streams := make([]outStream, 8)
	var c outStream
	for range 4 {
		s2.put(&c, msg('b', 40<<10), 0)
	}
	for i := range streams {
		s2.put(&streams[i], msg('i', 10), 0)
	}
	require.Equal(t, "iiibiiibiibb", order(&s2, true), "one turn in four is bulk's")
}

func TestSchedBulkWaitsForTheWindow(t *testing.T) {
	var s sched
	var a, b outStream
	s.put(&b, msg('b', burstBytes+1), 0)
	s.put(&a, msg('i', 1), 0)
	require.Equal(t, "i", order(&s, false))
	require.False(t, s.idle())
	require.Equal(t, "b", order(&s, true))
	require.True(t, s.idle())
}

func TestSchedRoundRobinByBytes(t *testing.T) {
	var s sched
	var a, b outStream
	a.class, b.class = bulk, bulk
	for range 4 {
		s.put(&a, msg('a', 40<<10), 0)
	}
	for range 8 {
		s.put(&b, msg('b', 20<<10), 0)
	}
	require.Equal(t, "abbabbabbabb", order(&s, true), "small messages share a turn")
}

func TestSchedStreamMovesWhole(t *testing.T) {
	var s sched
	var a, quick outStream
	s.put(&a, msg('1', 10), 0)
	require.Equal(t, interactive, a.class)
	s.put(&a, msg('2', burstBytes), 0)
	require.Equal(t, bulk, a.class, "more than 64 KiB in 100 ms")
	require.Zero(t, s.bytes[interactive])
	require.Equal(t, 10+burstBytes, s.bytes[bulk])
	s.put(&quick, msg('q', 10), 0)
	require.Equal(t, "q12", order(&s, true), "the earlier, small message moved too")
}

func TestSchedBulkBecomesInteractiveWhenQuiet(t *testing.T) {
	burst := func() (*sched, *outStream) {
		s, st := &sched{}, &outStream{}
		s.put(st, msg('x', burstBytes+1), 0)
		return s, st
	}
	s, st := burst()
	s.put(st, msg('x', 1), burstSpan*3)
	require.Equal(t, bulk, st.class, "its queue is not empty")

	s, st = burst()
	order(s, true)
	s.put(st, msg('x', 1), burstSpan)
	require.Equal(t, bulk, st.class, "the span that just ended was a burst")
	order(s, true)
	s.put(st, msg('x', 1), 2*burstSpan)
	require.Equal(t, interactive, st.class, "the span that just ended was quiet")

	s, st = burst()
	order(s, true)
	s.put(st, msg('x', 1), 2*burstSpan)
	require.Equal(t, interactive, st.class, "a whole span passed without a byte")
}

func TestSchedRecallAndDrop(t *testing.T) {
	var s sched
	var st outStream
	first, second := &ticket{}, &ticket{}
	a, b := msg('a', 5), msg('b', 7)
	a.ticket, b.ticket = first, second
	s.put(&st, a, 0)
	s.put(&st, b, 0)
	require.True(t, s.recall(&st, first))
	require.False(t, s.recall(&st, first))
	require.Equal(t, 7, s.bytes[interactive])
	require.True(t, s.recall(&st, second))
	require.True(t, s.idle())
	s.put(&st, msg('c', 3), 0)
	s.drop(&st)
	require.True(t, s.idle())
	require.Zero(t, s.bytes[interactive])
}

// TestSchedKeepsEveryStreamInOrder drives random streams and compares what
// comes out with what went in.
func TestSchedKeepsEveryStreamInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sched
		streams := make([]outStream, 4)
		sent, got := make([]int, 4), make([]int, 4)
		now := time.Duration(0)
		next := func(open bool) bool {
			it, st, ok := s.next(open)
			if !ok {
				return false
			}
			for i := range streams {
				if st == &streams[i] {
					require.Equal(t, byte(got[i]), it.msg[0])
					got[i]++
				}
			}
			return true
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				i := rapid.IntRange(0, 3).Draw(t, "stream")
				s.put(&streams[i], msg(byte(sent[i]), rapid.IntRange(1, 50<<10).Draw(t, "size")), now)
				sent[i]++
			},
			"next": func(t *rapid.T) { next(rapid.Bool().Draw(t, "open")) },
			"time": func(t *rapid.T) { now += time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond },
			"": func(t *rapid.T) {
				total := 0
				for i := range streams {
					total += streams[i].bytes
				}
				require.Equal(t, s.bytes[interactive]+s.bytes[bulk], total)
			},
		})
		for next(true) {
		}
		require.Equal(t, sent, got)
		require.True(t, s.idle())
		require.Equal(t, [classes]int{}, s.bytes)
	})
}
