package screen

// history holds the lines that left the top of the primary screen. Each is kept
// as the bytes that paint it, from a default pen back to a default pen: that is
// some hundred bytes instead of kilobytes of cells, and a snapshot only copies
// them. A line is never wrapped anew when the width changes: it is joined with
// the lines that continue it, and whoever paints it wraps it.
type history struct {
	lines []line // a ring once it is full
	start int
	limit int
	block []byte // where the bytes of the next lines go
}

type line struct {
	paint   []byte
	wrapped bool   // goes on the line before
	wide    bool   // begins with a wide character
	used    uint16 // columns that paint writes
	cols    uint16 // columns that the screen had
}

// blockSize is how many bytes of lines share an allocation.
const blockSize = 32 << 10

func (h *history) len() int { return len(h.lines) }

// at is the i-th line, the oldest first.
func (h *history) at(i int) *line {
	return &h.lines[(h.start+i)%len(h.lines)]
}

func (h *history) clear() {
	h.lines, h.start, h.block = nil, 0, nil
}

// push takes a line whose bytes are in h.block from the offset from on.
func (h *history) push(l line) {
	if h.limit == 0 {
		return
	}
	if len(h.lines) < h.limit {
		h.lines = append(h.lines, l)
		return
	}
	h.lines[h.start] = l
	h.start = (h.start + 1) % len(h.lines)
}

// pop takes the newest line away.
func (h *history) pop() line {
	if h.start != 0 { // straighten the ring; this happens at a resize only
		h.lines = append(append(make([]line, 0, len(h.lines)), h.lines[h.start:]...), h.lines[:h.start]...)
		h.start = 0
	}
	l := h.lines[len(h.lines)-1]
	h.lines = h.lines[:len(h.lines)-1]
	return l
}

// remember puts the top row into the history. rows are the rows of the screen
// now; if there is only one, wrapped says what the next one will be.
func (s *Screen) remember(r *row, rows []*row, wrapped bool) {
	h := &s.history
	if h.limit == 0 {
		return
	}
	next := &row{wrapped: wrapped}
	if len(rows) > 1 {
		next = rows[1]
	}
	h.add(s, r, next)
}

func (h *history) add(s *Screen, r, next *row) {
	if cap(h.block)-len(h.block) < 4*len(r.cells) {
		h.block = make([]byte, 0, max(blockSize, 8*len(r.cells)))
	}
	from := len(h.block)
	p := painter{screen: s, dst: h.block}
	used := p.row(r, next)
	l := line{paint: p.dst[from:len(p.dst):len(p.dst)], wrapped: r.wrapped, wide: r.startsWide(), used: uint16(used), cols: uint16(len(r.cells))}
	h.block = p.dst
	h.push(l)
}
