package browser

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/test/testkit"
)

// actWithin bounds one thing that is done to a page.
const actWithin = 60 * time.Second

// tab is a page that a user looks at.
type tab struct {
	*watch
	t    *testing.T
	ctx  context.Context //nolint:containedctx // to chromedp, a context is a tab
	base string          // of its server
}

// size is that of a tab, in pixels.
type size struct {
	width, height int64
	phone         bool
}

// desk is a window on a desk.
var desk = size{1280, 800, false}

// open opens a path of the server in a tab with a profile of its own.
func open(t *testing.T, base, path string, s size) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	p := &tab{watch: newWatch(base), t: t, ctx: ctx, base: base}
	t.Cleanup(func() {
		p.keep()
		for _, bad := range p.wrongs() {
			t.Errorf("the page: %s", bad)
		}
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("closing the tab: %v", err)
		}
		cancel()
	})
	require.NoError(t, chromedp.Listen(ctx, p.see))
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: tellViolations}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return err
	}))
	p.enable()
	p.resize(s)
	p.do(chromedp.Navigate(base + path))
	return p
}

// do does something to the page.
func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, actWithin)
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, actions...))
}

// resize gives the page another size. Touching is left alone where no phone is
// meant: to switch it off makes Chromium forget the mouse for a while.
func (p *tab) resize(s size) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, actWithin)
	defer cancel()
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.phone})
	require.NoError(p.t, err)
	if s.phone {
		_, err := chromedp.Call(ctx, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
		require.NoError(p.t, err)
	}
}

// value is what an expression has in the page.
func value[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, actWithin)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return v
}

// until waits until an expression is true in the page.
func (p *tab) until(expression, what string) {
	p.t.Helper()
	p.untilWithin(testkit.Patience, expression, what)
}

func (p *tab) untilWithin(limit time.Duration, expression, what string) {
	p.t.Helper()
	testkit.Until(p.t, limit, func() bool { return value[bool](p, "(async () => !!("+expression+"))()") }, testkit.Is("the page: "+what))
}

// byID selects what has a test id, and more that is said of it.
func byID(id string, more ...string) string {
	s := "[data-testid=" + strconv.Quote(id) + "]"
	for _, m := range more {
		s += m
	}
	return s
}

// attr is a condition on an attribute.
func attr(name, value string) string { return "[" + name + "=" + strconv.Quote(value) + "]" }

// has is an expression: the page has such an element.
func has(selector string) string { return "document.querySelector(" + strconv.Quote(selector) + ")" }

// sees waits for an element.
func (p *tab) sees(selector string) { p.t.Helper(); p.until(has(selector), "there is no "+selector) }

// seesNot waits until there is none.
func (p *tab) seesNot(selector string) {
	p.t.Helper()
	p.until("!"+has(selector), "there is still "+selector)
}

// reads waits until the elements of a selector have a text between them.
func (p *tab) reads(selector, text string) {
	p.t.Helper()
	testkit.Until(p.t, testkit.Patience, func() bool {
		return value[bool](p, fmt.Sprintf("%s.includes(%s)", texts(selector), strconv.Quote(text)))
	},
		func() string {
			return fmt.Sprintf("%s has not %q but %q", selector, text, value[string](p, texts(selector)))
		})
}

func texts(selector string) string {
	return "[...document.querySelectorAll(" + strconv.Quote(selector) + ")].map(e => e.textContent).join('\\n')"
}

// click clicks where the element is, when it can be hit there.
func (p *tab) click(selector string) {
	p.t.Helper()
	var at []float64
	testkit.Until(p.t, testkit.Patience, func() bool {
		at = value[[]float64](p, "("+whereToHit+")("+strconv.Quote(selector)+")")
		return len(at) == 2
	}, testkit.Is("nothing that could be clicked is at "+selector))
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// whereToHit finds the middle of the first element of a selector that is shown
// and not covered there.
const whereToHit = `selector => {
	for (const e of document.querySelectorAll(selector)) {
		e.scrollIntoView({ block: 'nearest' });
		const r = e.getBoundingClientRect();
		const x = r.left + r.width / 2, y = r.top + r.height / 2;
		const hit = document.elementFromPoint(x, y);
		if (r.width && r.height && hit && e.contains(hit) && !e.disabled) return [x, y];
	}
	return null;
}`

// say writes a message and sends it.
func (p *tab) say(text string) {
	p.t.Helper()
	p.click(byID("composer"))
	p.press(text + "\r")
}

// reload loads the page again.
func (p *tab) reload() { p.t.Helper(); p.do(chromedp.Reload()) }
