package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreeAddress is a loopback address that nobody listens on. Its port lies below
// those that the system gives to outgoing connections, so that it is still free
// when a server that was killed on it starts again.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const low, high, tries = 20000, 32000, 100
	for range tries {
		address := fmt.Sprintf("127.0.0.1:%d", low+rand.IntN(high-low))
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatalf("giving back the address %s: %v", address, err)
		}
		return address
	}
	t.Fatalf("no port is free between %d and %d", low, high)
	return ""
}
