package screen

// A cell's ch packs what it shows: a code point (or, with the combined bit, the
// number of a cluster) and how many columns it takes. Content without a bit set
// is a null cell: nothing was ever written there, or it was erased. The second
// column of a wide character is a null cell of width 0.
const (
	contentMask = 1<<22 - 1
	combined    = 1 << 21
	pointMask   = combined - 1
	widthShift  = 22
	nullCell    = 1 << widthShift
)

type cell struct {
	ch    uint32
	style uint32 // in the style table
}

func (c cell) width() int        { return int(c.ch >> widthShift) }
func (c cell) empty() bool       { return c.ch&contentMask == 0 }
func (c cell) isStub() bool      { return c.ch == 0 }
func glyph(r rune, w int) uint32 { return uint32(r) | uint32(w)<<widthShift }

// row is one line of the grid. wrapped says that it goes on the line above: the
// program did not end that line, it only ran out of columns.
type row struct {
	cells   []cell
	wrapped bool
}

func newRow(cols int, style uint32) *row {
	r := &row{cells: make([]cell, cols)}
	r.clear(style)
	return r
}

func (r *row) clear(style uint32) {
	fill(r.cells, cell{nullCell, style})
	r.wrapped = false
}

func fill(cells []cell, c cell) {
	for i := range cells {
		cells[i] = c
	}
}

// length is the number of columns up to the last one with content.
func (r *row) length() int {
	for i := len(r.cells) - 1; i >= 0; i-- {
		if !r.cells[i].empty() {
			return min(i+r.cells[i].width(), len(r.cells))
		}
	}
	return 0
}

// lengthBefore is the length of a row that goes on in next: all columns, but
// for the last one if it was left empty because next starts with a wide
// character that did not fit.
func (r *row) lengthBefore(next *row) int {
	n := len(r.cells)
	if n > 0 && r.cells[n-1].empty() && r.cells[n-1].width() == 1 && next.startsWide() {
		return n - 1
	}
	return n
}

func (r *row) startsWide() bool { return len(r.cells) > 0 && r.cells[0].width() == 2 }

// resize cuts or fills the row with default null cells.
func (r *row) resize(cols int) {
	if cols <= len(r.cells) {
		r.cells = r.cells[:cols]
		if cols > 0 && r.cells[cols-1].width() == 2 {
			r.cells[cols-1] = cell{nullCell, r.cells[cols-1].style}
		}
		return
	}
	cells := make([]cell, cols)
	fill(cells[copy(cells, r.cells):], cell{ch: nullCell})
	r.cells = cells
}

// insert moves the cells from pos on to the right; what leaves is lost, and half
// of a wide character is erased.
func (r *row) insert(pos, n int, blank cell) {
	cols := len(r.cells)
	if pos >= cols || n <= 0 {
		return
	}
	if pos > 0 && r.cells[pos-1].width() == 2 {
		r.cells[pos-1] = blank
	}
	n = min(n, cols-pos)
	copy(r.cells[pos+n:], r.cells[pos:cols-n])
	fill(r.cells[pos:pos+n], blank)
	if r.cells[cols-1].width() == 2 {
		r.cells[cols-1] = blank
	}
}

// remove moves the cells after pos to the left.
func (r *row) remove(pos, n int, blank cell) {
	cols := len(r.cells)
	if pos >= cols || n <= 0 {
		return
	}
	n = min(n, cols-pos)
	copy(r.cells[pos:], r.cells[pos+n:])
	fill(r.cells[cols-n:], blank)
	if pos > 0 && r.cells[pos-1].width() == 2 {
		r.cells[pos-1] = blank
	}
	if r.cells[pos].isStub() {
		r.cells[pos] = blank
	}
}

// replace erases [start, end), and the other half of what it cuts. A kept cell
// (of protected text) stays.
func (r *row) replace(start, end int, blank cell, kept func(cell) bool) {
	cols := len(r.cells)
	end = min(end, cols)
	if start >= end {
		return
	}
	if start > 0 && r.cells[start-1].width() == 2 && !kept(r.cells[start-1]) {
		r.cells[start-1] = blank
	}
	if end < cols && r.cells[end-1].width() == 2 && !kept(r.cells[end]) {
		r.cells[end] = blank
	}
	for i := start; i < end; i++ {
		if !kept(r.cells[i]) {
			r.cells[i] = blank
		}
	}
}
