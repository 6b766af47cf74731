package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/outrunner/outrunner/test/testkit"
)

// sizeEvery is how often a terminal takes a size. Who opens one again sooner
// waits for that, as no person would.
const sizeEvery = 60 * time.Millisecond

// BenchmarkAttach is how long a browser that opens a terminal waits for its
// screen: one with an empty history, and one with 50,000 lines of it. The
// connection to the server and the way through the tunnel are in it.
func BenchmarkAttach(b *testing.B) {
	s := newSite(b)
	empty, full := s.launch(b, "echo"), s.launch(b, "full")
	testkit.Until(b, testkit.Patience, func() bool {
		text, err := firstSight(full, "50000")
		return err == nil && strings.Contains(text, "49999")
	}, testkit.Is("the lines are not printed"))
	apart := func() { pause(b.Context(), sizeEvery) }
	compare(b, contestant{name: "empty", before: apart, once: opened(empty, "ready")}, contestant{name: "full", before: apart, once: opened(full, "50000")})
}

func opened(url, want string) func() error {
	return func() error { _, err := firstSight(url, want); return err }
}

// firstSight attaches, reads until a text is there, and leaves.
func firstSight(url, want string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), echoLimit)
	defer cancel()
	ws, err := look(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = ws.CloseNow() }()
	var seen strings.Builder
	for !strings.Contains(seen.String(), want) {
		_, p, err := ws.Read(ctx)
		if err != nil {
			return seen.String(), err
		}
		seen.Write(p)
	}
	return seen.String(), nil
}
