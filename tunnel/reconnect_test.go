package tunnel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClassify(t *testing.T) {
	closed := func(code int) Reason { return Reason{Cause: CauseClosed, Code: code} }
	status := func(code int) Reason { return Reason{Cause: CauseUpgrade, Code: code} }
	for _, c := range []struct {
		name   string
		reason Reason
		want   retryClass
	}{
		{"clean", closed(1000), retryRecycle},
		{"no code", closed(1005), retryRecycle},
		{"going away", closed(1001), retryRecycle},
		{"server restart", closed(1012), retryRecycle},
		{"proxy without a server", status(502), retryRecycle},
		{"woke up", Reason{Cause: CauseResumed}, retryRecycle},
		{"too big", closed(1009), retryEscalate},
		{"internal error", closed(1011), retryEscalate},
		{"try later", closed(1013), retryEscalate},
		{"ping timeout", closed(4003), retryEscalate},
		{"replaced", closed(4000), retryReplaced},
		{"bad hello", closed(4001), retryFatal},
		{"version", closed(4002), retryFatal},
		{"not admitted", closed(4004), retryFatal},
		{"fatal", closed(4500), retryFatal},
		{"unauthorized", status(401), retryRefused},
		{"forbidden", status(403), retryRefused},
		{"login page", status(302), retryRefused},
		{"website", Reason{Cause: CauseForeign, Code: 200}, retryRefused},
		{"not found", status(404), retryEscalate},
		{"conflict", status(409), retryEscalate},
		{"too many", status(429), retryEscalate},
		{"broken", status(500), retryEscalate},
		{"unavailable", status(503), retryEscalate},
		{"dns", Reason{Cause: CauseDial}, retryEscalate},
		{"lost", Reason{Cause: CauseLost}, retryEscalate},
		{"silence", Reason{Cause: CauseSilent}, retryEscalate},
		{"credentials failed", Reason{Cause: CauseHeader}, retryEscalate},
		{"a code that we sent does not count", Reason{Cause: CauseFlood, Code: 4004}, retryEscalate},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, classify(c.reason)) })
	}
}

func TestScheduleEscalatesWithinItsCaps(t *testing.T) {
	for range 200 { // it is random
		s := newSchedule(Timing{}.withDefaults())
		first := s.delay(retryEscalate, 0)
		require.GreaterOrEqual(t, first, 250*ms)
		require.LessOrEqual(t, first, 750*ms)
		for range 10 {
			d := s.delay(retryEscalate, 59*time.Second)
			require.LessOrEqual(t, d, time.Second, "a young outage")
			require.GreaterOrEqual(t, d, 250*ms)
		}
		var late time.Duration
		for range 10 {
			late = s.delay(retryEscalate, time.Minute)
			require.LessOrEqual(t, late, 10*time.Second)
		}
		require.GreaterOrEqual(t, late, 3*time.Second, "an old outage")
		require.LessOrEqual(t, s.delay(retryRecycle, time.Hour), 750*ms, "a planned recycle goes at the base")
		require.False(t, s.lived(4*time.Second))
		require.GreaterOrEqual(t, s.delay(retryEscalate, time.Minute), 3*time.Second, "accepted and dropped is not healthy")
		require.True(t, s.lived(5*time.Second))
		require.LessOrEqual(t, s.delay(retryEscalate, 0), 750*ms)
	}
}

func TestScheduleStandsBackWhenReplaced(t *testing.T) {
	for range 200 {
		s := newSchedule(Timing{}.withDefaults())
		limit := 10 * time.Second
		for _, want := range []time.Duration{limit, 2 * limit, 4 * limit, 6 * limit, 6 * limit} {
			d := s.delay(retryReplaced, 0)
			require.GreaterOrEqual(t, d, want/2)
			require.LessOrEqual(t, d, want)
		}
		s.lived(59 * time.Second)
		require.Greater(t, s.delay(retryReplaced, 0), 30*time.Second-1, "two holders may each live for a while")
		s.lived(time.Minute)
		require.LessOrEqual(t, s.delay(retryReplaced, 0), limit)
		s.delay(retryReplaced, 0)
		s.delay(retryEscalate, 0)
		require.LessOrEqual(t, s.delay(retryReplaced, 0), limit, "counted in a row only")
	}
}

func TestFatalCountsRefusals(t *testing.T) {
	refused := Reason{Cause: CauseUpgrade, Code: 401}
	var a attempts
	require.NoError(t, a.fatal(retryRefused, refused))
	require.NoError(t, a.fatal(retryRefused, refused))
	var fatal *FatalError
	require.ErrorAs(t, a.fatal(retryRefused, refused), &fatal)
	require.True(t, fatal.Credential)
	require.Equal(t, 401, fatal.HTTPStatus)
	require.Equal(t, "runner tunnel rejected by server (HTTP 401 persisted across 3 attempts); log in to the server again to re-authenticate", fatal.Text)

	a = attempts{}
	for range 10 { // something else in between: not in a row
		require.NoError(t, a.fatal(retryRefused, refused))
		require.NoError(t, a.fatal(retryRefused, refused))
		require.NoError(t, a.fatal(retryEscalate, Reason{Cause: CauseDial}))
	}

	a = attempts{connected: true}
	for range 10 { // once connected, a refusal never kills
		require.NoError(t, a.fatal(retryRefused, refused))
	}

	require.ErrorAs(t, a.fatal(retryFatal, Reason{Cause: CauseClosed, Code: 4004, Text: "why"}), &fatal)
	require.False(t, fatal.Credential)
	require.Equal(t, 4004, fatal.CloseCode)
	require.Equal(t, "runner tunnel rejected by server (close code 4004); check frame protocol compatibility: why", fatal.Text)
	require.Contains(t, fatalError(Reason{Cause: CauseUpgrade, Code: 302, Text: "https://login"}).Text, "redirect to non-WebSocket URL https://login")
	require.False(t, fatalError(Reason{Cause: CauseForeign, Code: 200, Text: "x"}).Credential)
}
