package browser

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// offline takes the browser's own network away, or gives it back.
func (p *tab) offline(yes bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, actWithin)
	defer cancel()
	_, err := chromedp.Call(ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: yes, DownloadThroughput: -1, UploadThroughput: -1}}})
	require.NoError(p.t, err)
	p.until(fmt.Sprintf("await fetch('/health').then(() => true, () => false) === %v", !yes), "its network does not change")
	_, err = chromedp.Call(ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: yes, DownloadThroughput: -1, UploadThroughput: -1})
	require.NoError(p.t, err)
}

// A browser without a network is told as that, not as a server or a runner that
// is away; what is written waits, keys are refused, and all goes on afterwards.
func TestABrowserWithoutANetwork(t *testing.T) {
	t.Parallel()
	w, session, v := begun(t)
	chatting := open(t, w.URL, "/c/"+session, desk)
	chatting.say("echo before")
	chatting.reads(stored, "before")
	for _, p := range []*tab{v.tab, chatting} {
		p.offline(true)
		p.sees(byID("connection-banner", attr("data-state", "browser-offline")))
		p.seesNot(byID("runner-offline"))
	}
	v.seesNot(v.view(attr("data-state", "connected")))
	v.click(byID("terminal-host"))
	v.press("echo lost\r")
	v.sees(byID("input-blocked"))
	chatting.say("echo meanwhile")
	chatting.reads(user+attr("data-state", "sending"), "echo meanwhile")
	for _, p := range []*tab{v.tab, chatting} {
		p.offline(false)
		p.seesNot(byID("connection-banner"))
	}
	chatting.reads(stored, "meanwhile")
	v.connected()
	v.types("echo found\r")
	v.right("\nfound\n$")
	require.NotContains(t, v.draws().String(), "lost", "what the page refused does not come later")
}
