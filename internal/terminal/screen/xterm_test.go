//go:build xterm

package screen

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// xterm is a running node with xterm.js in it.
type xterm struct {
	in  io.WriteCloser
	out *bufio.Reader
}

type op struct {
	Write  []byte `json:"write,omitempty"`
	Resize []int  `json:"resize,omitempty"`
}

type request struct {
	Cols       int  `json:"cols,omitempty"`
	Rows       int  `json:"rows,omitempty"`
	Scrollback int  `json:"scrollback"`
	Unicode6   bool `json:"unicode6,omitempty"`
	Ops        []op `json:"ops,omitempty"`
	Widths     bool `json:"widths,omitempty"`
}

// startXterm installs what test/screen names, once, and starts it.
func startXterm(t *testing.T) *xterm {
	const source = "../../../test/screen"
	sum := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json", "xterm.mjs"} {
		data, err := os.ReadFile(filepath.Join(source, name))
		require.NoError(t, err)
		files[name] = data
		if name != "xterm.mjs" {
			sum.Write(data)
		}
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "outrunner", "xterm-"+hex.EncodeToString(sum.Sum(nil))[:12])
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
		npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
		npm.Dir = dir
		out, err := npm.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "installed"), nil, 0o644))
	}
	node := exec.Command("node", "xterm.mjs")
	node.Dir = dir
	node.Stderr = os.Stderr
	in, err := node.StdinPipe()
	require.NoError(t, err)
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	t.Cleanup(func() {
		_ = in.Close() // node ends with its input
		_ = node.Wait()
	})
	return &xterm{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

type fataler interface {
	require.TestingT
	Helper()
}

func (x *xterm) ask(t fataler, q request, answer any) {
	t.Helper()
	line, err := json.Marshal(q)
	require.NoError(t, err)
	_, err = x.in.Write(append(line, '\n'))
	require.NoError(t, err)
	reply, err := x.out.ReadBytes('\n')
	require.NoError(t, err)
	var failed struct{ Error string }
	require.NoError(t, json.Unmarshal(reply, &failed))
	require.Empty(t, failed.Error)
	require.NoError(t, json.Unmarshal(reply, answer))
}

type browserState struct {
	screenState
	Answers []string `json:"answers"`
}

func (x *xterm) play(t fataler, q request) browserState {
	t.Helper()
	var st browserState
	x.ask(t, q, &st)
	return st
}

// same compares a browser's state with ours.
func same(t fataler, want, got screenState) {
	t.Helper()
	forgotten(&want.Primary, &got.Primary)
	forgotten(&want.Other, &got.Other)
	if !want.Alternate { // it is empty, but it keeps what was saved on it
		want.Other = bufferState{}
	}
	got.Keyboards, got.Others, got.Colors = want.Keyboards, want.Others, want.Colors
	if want.Pen.Link == "?" {
		want.Pen.Link = got.Pen.Link
	}
	require.Equal(t, want.String(), got.String())
}

// forgotten takes the links over that xterm.js no longer knows.
func forgotten(from, to *bufferState) {
	for i := range from.Lines {
		for x := range from.Lines[i].Cells {
			if from.Lines[i].Cells[x].Link == "?" && i < len(to.Lines) && x < len(to.Lines[i].Cells) {
				from.Lines[i].Cells[x].Link = to.Lines[i].Cells[x].Link
			}
		}
	}
}

func TestBrowserShowsTheSame(t *testing.T) {
	x := startXterm(t)
	for name, q := range map[string]struct {
		quirks
		history int
	}{
		"without history": {quirks{relative: true, lone: false, rename: true, history: true}, 0},
		"with history":    {quirks{save: true, relative: true, lone: false, rename: true, history: false}, 50},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cols, rows := rapid.IntRange(5, 24).Draw(t, "cols"), rapid.IntRange(2, 10).Draw(t, "rows")
				a := program(q.quirks).Draw(t, "program")
				s := New(cols, rows, q.history)
				ask := request{Cols: cols, Rows: rows, Scrollback: q.history}
				for _, p := range append(a, "\x1b\\") {
					s.Write([]byte(p))
					ask.Ops = append(ask.Ops, op{Write: []byte(p)})
				}
				raw := x.play(t, ask)
				same(t, keptAs(raw.screenState), keptAs(stateOf(s)))

				ask.Ops = []op{{Write: []byte("\x1b[?1049h\x1b[5mold\x1b[2;3r\x1b]8;;x")}, {Write: s.Snapshot(1000, 1<<20)}}
				again := x.play(t, ask)
				require.Empty(t, again.Answers)
				same(t, seen(again.screenState), seen(stateOf(s)))
			})
		})
	}
}

func TestBrowserShowsRecordingsAlike(t *testing.T) {
	x := startXterm(t)
	for name, output := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			for _, end := range []int{len(output) / 3, len(output) / 2, len(output)} {
				s := New(80, 24, 0)
				s.Write(output[:end])
				raw := x.play(t, request{Cols: 80, Rows: 24, Ops: []op{{Write: output[:end]}}})
				same(t, keptAs(raw.screenState), keptAs(stateOf(s)))
				again := x.play(t, request{Cols: 80, Rows: 24, Ops: []op{{Write: s.Snapshot(1000, 1<<20)}}})
				require.Empty(t, again.Answers)
				same(t, seen(again.screenState), seen(stateOf(s)))
			}
		})
	}
}

func TestBrowserWidths(t *testing.T) {
	x := startXterm(t)
	var w struct{ Plain, Unicode11 string }
	x.ask(t, request{Widths: true}, &w)
	plain, err := base64.StdEncoding.DecodeString(w.Plain)
	require.NoError(t, err)
	wide, err := base64.StdEncoding.DecodeString(w.Unicode11)
	require.NoError(t, err)
	for c := rune(0xa0); c < 0x110000; c++ {
		require.Equal(t, int(wide[c]), runeWidth(c), "%U", c)
		require.Equal(t, plain[c] != wide[c], disputed(cell{ch: uint32(c)}), "%U", c)
	}
}
