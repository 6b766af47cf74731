package browser

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// typist types into a terminal whose page is listened to. No two of its keys are
// the same letter.
type typist struct {
	*screen
	n int // keys so far

	mu   sync.Mutex
	sent map[rune]bool // by the page
}

// first is the first key of a typist; it has some 20,000.
const first = '\u4e00'

func newTypist(v *screen) *typist {
	y := &typist{screen: v, sent: map[rune]bool{}}
	require.NoError(v.t, chromedp.Listen(v.ctx, func(event any) {
		e, ok := event.(*network.EventWebSocketFrameSent)
		if !ok || e.Response.Opcode != 2 {
			return
		}
		y.mu.Lock()
		defer y.mu.Unlock()
		for _, key := range string(e.Response.PayloadData) {
			y.sent[key] = true
		}
	}))
	return y
}

// keys types so many, and ends lines in between: the system holds no long ones.
func (y *typist) keys(n int) {
	y.t.Helper()
	for range n {
		y.press(string(rune(first + y.n)))
		if y.n++; y.n%20 == 0 {
			y.press("\r")
		}
	}
}

// settled fails unless what the program read is what the page sent: each key
// once, and one after the other. It says how many keys the page refused.
func (y *typist) settled(read string) (refused int) {
	y.t.Helper()
	last := rune(first - 1)
	arrived := map[rune]bool{}
	for _, key := range read {
		if key == '\n' {
			continue
		}
		require.Greater(y.t, key, last, "key %d came after key %d", key-first, last-first)
		last, arrived[key] = key, true
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	for n := range y.n {
		key := rune(first + n)
		require.Equal(y.t, y.sent[key], arrived[key], "key %d of %d, by the page and at the program", n, y.n)
	}
	return y.n - len(arrived)
}

// The line is cut while somebody types, and comes back. Each key that the page
// took has arrived, once and in its place, also those that were on their way;
// of the others it has said that they are not sent.
func TestTypingOverACut(t *testing.T) {
	for _, outage := range []time.Duration{3 * time.Second, 40 * time.Second} {
		for name, begins := range map[string]func(*testkit.Proxy){"reset": (*testkit.Proxy).Refuse, "silent": (*testkit.Proxy).Stall} {
			t.Run(fmt.Sprintf("%s for %s", name, outage), func(t *testing.T) {
				t.Parallel()
				w, _, v := begun(t)
				v.types("cat >typed\r")
				v.right("cat >typed")
				y := newTypist(v)
				y.keys(5)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					testkit.Hold(50 * time.Millisecond) // in the middle of typing
					begins(w.line)
					testkit.Hold(outage)
					w.line.Heal()
				}()
				told := false
				for open := true; open; {
					y.keys(1)
					told = told || value[bool](v.tab, "!!"+has(byID("input-blocked")))
					select {
					case <-ended:
						open = false
					default:
					}
				}
				v.connected()
				y.keys(5)
				v.press("\r\x04")
				v.right("\n$")
				refused := y.settled(w.read("typed"))
				if name == "reset" {
					require.Positive(t, refused)
					require.True(t, told, "the page says nothing of the keys that it does not send")
				} else {
					require.Zero(t, refused, "the page could not know")
					require.False(t, told)
				}
			})
		}
	}
}
