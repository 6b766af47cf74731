package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	// startWithin bounds the start of Chromium on a busy machine.
	startWithin = 90 * time.Second
	// endWithin bounds its end.
	endWithin = 30 * time.Second
)

// chromium is the browser of all tests. TestMain sets it once, before them.
var chromium context.Context

// startChromium starts it, without a picture card, so that a page falls back to
// drawing terminals in the document, where they can be read.
func startChromium() (end func() error, err error) {
	path, err := findChromium()
	if err != nil {
		return nil, err
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.Flag("headless", "new"), chromedp.WSURLReadTimeout(startWithin),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-software-rasterizer", true),
		chromedp.Flag("blink-settings", "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("no-proxy-server", true))...)
	silent := func(string, ...any) {} // it complains of events that are newer than itself
	browser, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(silent), chromedp.WithLogf(silent),
		chromedp.WithBrowserOption(chromedp.WithBrowserErrorf(silent)))
	if err := chromedp.Do(browser); err != nil {
		cancel()
		stop()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	chromium = browser
	return func() error {
		ctx, over := context.WithTimeout(browser, endWithin)
		defer over()
		err := chromedp.Cancel(ctx)
		cancel()
		stop()
		return err
	}, nil
}

// findChromium finds the program.
func findChromium() (string, error) {
	if path := os.Getenv("OUTRUNNER_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium: install it (test/browser/setup.sh does on Debian), or name one in OUTRUNNER_CHROMIUM")
}
