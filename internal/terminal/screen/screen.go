package screen

// Limits of a size; what is beyond is brought within.
const (
	minCols, maxCols = 2, 1000
	minRows, maxRows = 1, 500
	maxHistory       = 1_000_000
)

// Screen is the model of one terminal. It is not safe for concurrent use: one
// goroutine writes and asks.
type Screen struct {
	cols, rows int

	primary   *buffer
	alternate *buffer
	buf       *buffer // the one that is shown
	history   history

	styles   table[style]
	clusters table[string]
	links    table[link]

	pen         style
	penKnown    bool
	penNumber   uint32
	eraseNumber uint32

	charsets  charsets
	modes     modes
	keyboards [2][]int // kitty keyboard flags pushed, per buffer
	title     string
	titles    []string
	colors    map[int]string

	// joins is the width of the character that was just printed, 0 if
	// something else happened since: only then can a mark join it.
	joins int

	decoder decoder
	parser  parser
}

// buffer is one of the two grids. The rows are only those that are seen.
type buffer struct {
	rows        []*row
	x, y        int // x is cols while the next character would wrap
	top, bottom int // the scroll region, both included
	tabs        []bool
	saved       saved
}

// saved is what ESC 7 keeps.
type saved struct {
	x, y    int
	pen     style
	charset byte
}

// New makes a model of a terminal of cols by rows that remembers history lines
// above the screen.
func New(cols, rows, history int) *Screen {
	s := &Screen{cols: clamp(cols, minCols, maxCols), rows: clamp(rows, minRows, maxRows)}
	s.history.limit = clamp(history, 0, maxHistory)
	s.styles, s.clusters, s.links = newTable[style](), newTable[string](), newTable[link]()
	s.parser.clear()
	s.reset()
	return s
}

// Cols is the number of columns.
func (s *Screen) Cols() int { return s.cols }

// Rows is the number of rows.
func (s *Screen) Rows() int { return s.rows }

// Alternate reports whether the alternate screen is shown, as full-screen
// programs do.
func (s *Screen) Alternate() bool { return s.buf == s.alternate }

// reset is the state of a terminal that was just switched on. The title and the
// colours stay.
func (s *Screen) reset() {
	s.pen = style{}
	s.penChanged()
	s.charsets = charsets{}
	s.modes = powerOn(s.modes)
	s.keyboards = [2][]int{}
	s.joins = 0
	s.history.clear()
	s.primary = newBuffer(s.cols, s.rows)
	s.alternate = newBuffer(s.cols, s.rows)
	s.buf = s.primary
}

func newBuffer(cols, rows int) *buffer {
	b := &buffer{bottom: rows - 1}
	b.rows = make([]*row, rows)
	for i := range b.rows {
		b.rows[i] = newRow(cols, 0)
	}
	b.setTabs(cols, 0)
	return b
}

// setTabs puts a stop at every eighth column, from the column from on.
func (b *buffer) setTabs(cols, from int) {
	if from == 0 {
		b.tabs = nil
	}
	tabs := make([]bool, cols+1)
	copy(tabs, b.tabs)
	for i := from; i < cols; i += 8 {
		tabs[i] = true
	}
	b.tabs = tabs
}

func (b *buffer) row() *row { return b.rows[b.y] }

func clamp(v, low, high int) int { return max(low, min(v, high)) }
