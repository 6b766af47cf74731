package terminal

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outrunner/outrunner/internal/terminal/screen"
	"github.com/outrunner/outrunner/runner/wire"
)

type state int

const (
	running state = iota
	ended         // the program has ended, or was
	left          // it goes on, without us
)

// A terminal is one program, the model of its screen, and those who look at it.
type terminal struct {
	spec       wire.TerminalSpec // but for the session, which may change
	generation string
	made       time.Time
	back       backend
	folder     *folder // nil where nothing outlives us
	lim        limits
	log        *slog.Logger
	now        func() time.Time
	news       func(wire.TerminalNews)
	registered bool // it is, or was, in the books; the manager's lock guards it
	typing     *typing
	over       chan struct{} // closed when the state is not running any more
	gone       chan struct{} // closed when serve has returned
	viewerLeft chan struct{}

	mu      sync.Mutex
	session string
	state   state
	closing bool // somebody closes it, so its end is no news
	buried  bool
	exit    wire.TerminalExit
	model   *screen.Screen
	filter  screen.Filter
	viewers []*viewer
	typist  *viewer // who typed last
	typists []*typist
	owner   owner
	started bool      // a program that waits for its first viewer was told
	active  time.Time // when a change was last told
	touched time.Time // when a viewer last did something
	changed time.Time // when the program last printed
}

func (t *terminal) describe() wire.Terminal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.described()
}

// described needs the lock.
func (t *terminal) described() wire.Terminal {
	d := wire.Terminal{
		Session: t.session, Name: t.spec.Name, Key: t.spec.Key, Cwd: t.spec.Cwd,
		Running: t.state == running, Generation: t.generation,
	}
	if t.folder != nil {
		d.Socket, d.Target = t.folder.socket(), tmuxSession
	}
	return d
}

// printed takes what the program printed. It waits for nobody: it is the
// reader's, and a reader that waits stops the program (T6).
func (t *terminal) printed(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.model.Write(p)
	for _, part := range t.filter.Feed(p) {
		if part.Query {
			t.askOne(part.Bytes)
			continue
		}
		for _, v := range t.viewers {
			v.add(message{data: part.Bytes})
		}
	}
	now := t.now()
	t.changed = now
	if now.Sub(t.active) >= t.lim.activeEvery && now.Sub(t.touched) > t.lim.typing {
		t.active = now
		t.news(wire.TerminalNews{Kind: wire.TerminalActive, Terminal: t.described()})
	}
}

// askOne hands a program's questions to one viewer: whoever typed last, else the
// first who may answer. If all got them, the program would get as many answers (T8).
func (t *terminal) askOne(query []byte) {
	who := t.typist
	if who == nil {
		if i := slices.IndexFunc(t.viewers, func(v *viewer) bool { return !v.readOnly && v.joined }); i >= 0 {
			who = t.viewers[i]
		}
	}
	if who != nil {
		who.add(message{data: query})
	}
}

// paint needs the lock.
func (t *terminal) paint(lines, most int) []message {
	return []message{
		sizeMessage(t.model.Cols(), t.model.Rows()),
		{data: t.model.Snapshot(lines, most)},
	}
}

// resized is told between what was printed at the two sizes.
func (t *terminal) resized(cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.model.Cols() == cols && t.model.Rows() == rows {
		return
	}
	t.model.Resize(cols, rows)
	for _, v := range t.viewers {
		v.add(sizeMessage(cols, rows))
	}
}

// replaced puts a picture in the place of the model.
func (t *terminal) replaced(p picture, quiet bool) {
	model := screen.New(p.cols, p.rows, t.spec.Scrollback)
	model.Write(p.paint)
	t.mu.Lock()
	defer t.mu.Unlock()
	if quiet && model.Cols() == t.model.Cols() && model.Text(patchLines) == t.model.Text(patchLines) {
		return
	}
	t.model, t.filter = model, screen.Filter{Clipboard: t.filter.Clipboard}
	for _, v := range t.viewers {
		if v.joined {
			v.fallBehind()
		}
	}
}

// lastLines are the last lines of the screen, without empty ones at its end.
func (t *terminal) lastLines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimRight(t.model.Text(tailLines), " \n")
}

// typedBy notes who types: that one has the size and gets the questions.
func (t *terminal) typedBy(v *viewer, data []byte) bool {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !v.counts(len(data)) {
		return false
	}
	t.touched, v.active = now, now
	if automatic.Match(data) {
		return true
	}
	v.typed, t.typist = now, v
	if t.owner.typed(v) {
		t.typing.want(v.cols, v.rows)
	}
	return true
}

// notTyped takes back what could not be typed after all.
func (t *terminal) notTyped(v *viewer, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v.counts(-len(data))
}

// heard takes a control message of a viewer.
func (t *terminal) heard(v *viewer, text []byte) {
	if id, ok := readTypist(text); ok && !v.readOnly {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.named(v, id)
		return
	}
	cols, rows, ok := readResize(text)
	if !ok {
		return
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	first := v.cols == 0
	v.cols, v.rows = cols, rows
	t.touched, v.active = now, now
	if t.owner.resized(v, now) {
		v.sized = t.typing.want(cols, rows)
	} else if first {
		done := make(chan struct{})
		close(done)
		v.sized = done
	}
	if first {
		close(v.told)
	}
}

// copied has what was put into tmux's buffer handed to the clipboard of whoever
// typed last, if that was just now (T27). Reading it costs a process, which is
// not the reader's to wait for.
func (t *terminal) copied(name string) {
	t.mu.Lock()
	wanted := t.justTyped() != nil
	t.mu.Unlock()
	if wanted {
		t.typing.copy(name)
	}
}

// answer gets in line with what is typed, if the line is not long: the reader
// does not wait.
func (t *terminal) answer(text string) { t.typing.offer(keystroke{data: []byte(text)}) }

// justTyped needs the lock.
func (t *terminal) justTyped() *viewer {
	if t.typist == nil || t.now().Sub(t.typist.typed) > t.lim.clipboard {
		return nil
	}
	return t.typist
}

// offer needs the lock.
func (t *terminal) offer(data []byte) {
	if v := t.justTyped(); v != nil && len(data) > 0 && len(data) <= maxClip {
		v.addAlways(clipboardMessage(data))
	}
}
