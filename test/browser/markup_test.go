package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// hostile is what a model may say so that a page does something.
const hostile = "<script>window.hit='script'</script>\n\n<img src=x onerror=\"window.hit='img'\">\n\n" +
	"# A <b onmouseover=\"window.hit='b'\">head</b>\n\n[click](javascript:window.hit='link') and <javascript:window.hit='auto'>\n\n" +
	"![picture](http://127.0.0.2:9/spy.png) [data](data:text/html,<script>window.hit='data'</script>)\n\n" +
	"| a | <svg onload=\"window.hit='svg'\"> |\n|---|---|\n| `</td><script>window.hit='cell'</script>` | **bold** |\n\n" +
	"```html\n</code></pre><script>window.hit='fence'</script>\n```\n\n<iframe srcdoc=\"<script>parent.hit='frame'</script>\"></iframe>\n\nthe end\n"

// What a model says is text, whatever it says: as an answer, a thought, the
// arguments and the output of a call, an error, a title.
func TestWhatAModelSaysIsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	events := ""
	say := func(event map[string]any) {
		line, err := json.Marshal(event)
		require.NoError(t, err)
		events += string(line) + "\n"
	}
	call := func(status string) map[string]any {
		return map[string]any{"type": "function_call", "status": status, "call_id": "1", "name": "<img src=x onerror=window.hit=1>", "arguments": `{"x":"<script>window.hit='args'</script>"}`}
	}
	say(map[string]any{"type": "response.reasoning_text.delta", "delta": hostile})
	say(map[string]any{"type": "response.output_item.done", "item": call("in_progress")})
	say(map[string]any{"type": "response.output_item.done", "item": call("completed")})
	say(map[string]any{"type": "response.output_item.done", "item": map[string]any{"type": "function_call_output", "call_id": "1", "output": hostile}})
	say(map[string]any{"type": "response.output_text.delta", "delta": hostile})
	say(map[string]any{"type": "response.failed", "error": map[string]any{"code": "bad", "message": "<img src=x onerror=window.hit='error'>", "remediation": "<b>rest</b>"}})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "events"), []byte(events), 0o600))
	w.runner.Configure(fmt.Sprintf("harnesses:\n  \"acp:says\": {adapter: stdio, command: [sh, -c, 'while read -r l; do case $l in *message*) cat %s;; esac; done']}\n",
		filepath.Join(dir, "events")))
	w.begin()
	p := open(t, w.URL, "/c/"+w.NewSession("says"), desk)
	p.say("<img src=x onerror=window.hit='title'> hello")
	p.sees(byID("error"))
	p.reads(stored, "the end")
	look := func() {
		t.Helper()
		p.reads(byID("error"), "<img src=x onerror=window.hit='error'>")
		p.reads(user, "<img src=x onerror=window.hit='title'> hello")
		p.reads(byID("session-row"), "<img src=x onerror=window.hit='title'> hello")
		p.reads(stored, "<script>window.hit='script'</script>")
		p.reads(stored, `<img src=x onerror="window.hit='img'">`)
		p.reads(stored+" code", "</code></pre><script>window.hit='fence'</script>")
		p.sees(stored + " strong")
		p.do(chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('details').forEach(e => e.open = true)"))
		p.reads(byID("tool-call"), "window.hit='args'")
		for _, made := range []string{"script:not([src])", "img:not([src^='/'])", "iframe", "svg[onload]", "[onerror]", "[onmouseover]", "a[href^='javascript']", "a[href^='data']"} {
			require.Zero(t, value[int](p, fmt.Sprintf("document.querySelectorAll(%q).length", made)), made)
		}
		require.True(t, value[bool](p, "window.hit === undefined"), "a script of the model's ran")
	}
	look()
	p.reload()
	p.reads(stored, "the end")
	look()
}
