package screen

// color is a mode in the top byte and a value below it.
type color uint32

const (
	colorMode    = 0xff << 24
	colorDefault = 0 << 24
	color16      = 1 << 24
	color256     = 2 << 24
	colorRGB     = 3 << 24
)

type flags uint16

const (
	bold flags = 1 << iota
	dim
	italic
	blink
	inverse
	invisible
	strike
	overline
	underline
	protected // not looks: selective erase leaves it
)

// style is how a cell looks, and where a click on it leads.
type style struct {
	fg, bg, ul color // ul is the underline's
	flags      flags
	ulStyle    uint8 // 1 single, 2 double, 3 curly, 4 dotted, 5 dashed
	link       uint32
}

// table numbers values, so that a cell holds 4 bytes instead of a style or a
// text. Number 0 is the zero value.
type table[T comparable] struct {
	list  []T
	index map[T]uint32
	limit int // more than this: compact
}

// tableLimit is the number of entries that is not worth a compaction.
const tableLimit = 4096

func newTable[T comparable]() table[T] {
	var zero T
	return table[T]{list: []T{zero}, index: map[T]uint32{zero: 0}, limit: tableLimit}
}

func (t *table[T]) number(v T) uint32 {
	if n, ok := t.index[v]; ok {
		return n
	}
	n := uint32(len(t.list))
	t.list = append(t.list, v)
	t.index[v] = n
	return n
}

func (t *table[T]) full() bool { return len(t.list) > t.limit }

// link is what OSC 8 opens: the id says which pieces are one link.
type link struct{ id, uri string }

// compact forgets the styles, clusters and links that no cell shows any more.
// It runs between two pieces of output, when nobody holds a number.
func (s *Screen) compact() {
	if !s.styles.full() && !s.clusters.full() && !s.links.full() {
		return
	}
	styles, clusters, links := newTable[style](), newTable[string](), newTable[link]()
	keep := func(st style) style {
		st.link = links.number(s.links.list[st.link])
		return st
	}
	renumber := func(b *buffer) {
		if b == nil {
			return
		}
		for _, r := range b.rows {
			for i := range r.cells {
				c := &r.cells[i]
				c.style = styles.number(keep(s.styles.list[c.style]))
				if c.ch&combined != 0 {
					c.ch = c.ch&^pointMask | clusters.number(s.clusters.list[c.ch&pointMask])
				}
			}
		}
		b.saved.pen = keep(b.saved.pen)
	}
	renumber(s.primary)
	renumber(s.alternate)
	s.pen = keep(s.pen)
	styles.limit = max(tableLimit, 2*len(styles.list))
	clusters.limit = max(tableLimit, 2*len(clusters.list))
	links.limit = max(tableLimit, 2*len(links.list))
	s.styles, s.clusters, s.links = styles, clusters, links
	s.penChanged()
}

// penChanged must follow every change of the pen.
func (s *Screen) penChanged() { s.penKnown = false }

// penStyle is the number of the pen's style.
func (s *Screen) penStyle() uint32 {
	if !s.penKnown {
		s.penNumber = s.styles.number(s.pen)
		s.eraseNumber = s.styles.number(style{bg: s.pen.bg})
		s.penKnown = true
	}
	return s.penNumber
}

// blank is what erasing leaves: a null cell with the pen's background.
func (s *Screen) blank() cell {
	s.penStyle()
	return cell{nullCell, s.eraseNumber}
}
