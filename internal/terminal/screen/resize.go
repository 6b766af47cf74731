package screen

// Resize changes the size, as xterm.js does it: what is on the primary screen
// is wrapped anew, but for the line of the cursor, which its program paints
// again; a screen that gets higher while the cursor is at its bottom shows
// history again; one that gets lower loses empty lines below the cursor first.
// The alternate screen is cut or filled. The scroll region is the whole screen
// afterwards.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clamp(cols, minCols, maxCols), clamp(rows, minRows, maxRows)
	if cols == s.cols && rows == s.rows {
		return
	}
	s.joins = 0
	f := s.unroll(cols, rows)
	f.resize(cols, rows, true)
	s.alternate.frame().resizeInto(s.alternate, cols, rows)
	s.cols, s.rows = cols, rows
	for i := range f.base {
		s.history.add(s, f.lines[i], f.lines[i+1])
	}
	f.lines, f.base = f.lines[f.base:], 0
	f.store(s.primary, cols, rows)
}

// frame is a buffer while its size changes: its rows and what is above them.
type frame struct {
	lines      []*row
	base       int // the first of lines that is on the screen
	cols, rows int
	x, y       int
	savedX     int
	savedY     int // counted from lines[0]
}

func (b *buffer) frame() *frame {
	return &frame{lines: b.rows, cols: len(b.rows[0].cells), rows: len(b.rows), x: b.x, y: b.y, savedX: b.saved.x, savedY: b.saved.y}
}

func (f *frame) resizeInto(b *buffer, cols, rows int) {
	f.resize(cols, rows, false)
	f.lines = f.lines[f.base:]
	f.store(b, cols, rows)
}

func (f *frame) store(b *buffer, cols, rows int) {
	for len(f.lines) < rows {
		f.lines = append(f.lines, newRow(cols, 0))
	}
	b.rows = append([]*row(nil), f.lines[:rows]...)
	b.x, b.y = f.x, clamp(f.y, 0, rows-1)
	b.saved.x, b.saved.y = min(f.savedX, cols-1), max(f.savedY, 0)
	b.top, b.bottom = 0, rows-1
	last := min(len(b.tabs)-1, cols)
	for last > 0 && !b.tabs[last] {
		last--
	}
	if grown := cols + 1 - len(b.tabs); grown > 0 {
		b.setTabs(cols, last)
	} else {
		b.tabs = b.tabs[:cols+1]
	}
}

// resize leaves exactly rows lines from base on.
func (f *frame) resize(cols, rows int, reflow bool) {
	oldBase := f.base
	for _, r := range f.lines {
		if cols > f.cols {
			r.resize(cols)
		}
	}
	for n := f.rows; n < rows; n++ {
		if len(f.lines) >= rows+f.base {
			continue
		}
		if f.base > 0 && len(f.lines) <= f.base+f.y+1 {
			f.base--
			f.y++
		} else {
			f.lines = append(f.lines, newRow(cols, 0))
		}
	}
	for n := f.rows; n > rows; n-- {
		if len(f.lines) <= rows+f.base {
			continue
		}
		if len(f.lines) > f.base+f.y+1 {
			f.lines = f.lines[:len(f.lines)-1]
		} else {
			f.base++
			f.y--
		}
	}
	f.x = min(f.x, cols-1)
	f.y = clamp(f.y, 0, rows-1)
	f.savedY -= f.base - oldBase
	if reflow && cols != f.cols {
		f.reflow(cols, rows)
	}
	for _, r := range f.lines {
		if len(r.cells) != cols {
			r.resize(cols)
		}
	}
}

// reflow wraps all lines anew, but for the one with the cursor.
func (f *frame) reflow(cols, rows int) {
	cursor := f.base + f.y
	var out []*row
	at := 0 // where the cursor's row is in out
	for i := 0; i < len(f.lines); {
		end := i + 1
		for end < len(f.lines) && f.lines[end].wrapped {
			end++
		}
		group := f.lines[i:end]
		switch {
		case cursor >= i && cursor < end:
			at = len(out) + cursor - i
			out = append(out, group...)
		case len(group) == 1 && group[0].length() <= cols:
			out = append(out, group[0])
		default:
			out = append(out, rewrap(group, f.cols, cols)...)
		}
		i = end
	}
	grown := len(out) - len(f.lines)
	f.lines = out
	wasAtTop := f.base == 0
	for ; grown > 0; grown-- {
		if wasAtTop && len(out) > at+1 && at < rows-1 && out[len(out)-1].length() == 0 {
			out = out[:len(out)-1]
		} else {
			f.base++
		}
	}
	f.base = max(f.base+min(grown, 0), 0)
	for len(out) < f.base+rows {
		out = append(out, newRow(cols, 0))
	}
	f.base = max(len(out)-rows, 0)
	if at < f.base { // the cursor is never left above the screen
		f.base = at
		out = out[:at+rows]
	}
	f.lines = out
	f.savedY = clamp(f.savedY+(at-f.base)-f.y, 0, rows-1)
	f.y = at - f.base
}

// rewrap lays the cells of one line, which had oldCols columns, out in cols.
func rewrap(group []*row, oldCols, cols int) []*row {
	var cells []cell
	for i, r := range group {
		n := r.length()
		if i+1 < len(group) {
			old := row{cells: r.cells[:min(oldCols, len(r.cells))]}
			n = old.lengthBefore(group[i+1])
		}
		cells = append(cells, r.cells[:n]...)
	}
	var out []*row
	for len(cells) > 0 || out == nil {
		n := min(cols, len(cells))
		if n == cols && n < len(cells) && cells[n-1].width() == 2 {
			n--
		}
		r := newRow(cols, 0)
		copy(r.cells, cells[:n])
		r.wrapped = out != nil || group[0].wrapped
		cells = cells[n:]
		out = append(out, r)
	}
	return out
}

// unroll takes so much of the history back as rows that the new screen can show
// whatever it may.
func (s *Screen) unroll(cols, rows int) *frame {
	f := s.primary.frame()
	want := (rows + s.rows) * (cols/s.cols + 2)
	if cols == s.cols {
		want = rows
	}
	var newest []line
	for s.history.len() > 0 && (len(newest) < want || newest[len(newest)-1].wrapped && len(newest) < 4*want) {
		newest = append(newest, s.history.pop())
	}
	var past, group []*row
	for i := len(newest) - 1; i >= 0; i-- {
		group = append(group, s.unpaint(newest[i]))
		if i > 0 && newest[i-1].wrapped {
			continue
		}
		// Lines of several widths may meet here; they were wrapped for s.cols
		// at the last resize of a browser.
		past = append(past, s.evenOut(group)...)
		group = nil
	}
	f.base = len(past)
	f.savedY += len(past)
	f.lines = append(past, f.lines...)
	return f
}

// evenOut gives the rows of one line the width of the screen.
func (s *Screen) evenOut(group []*row) []*row {
	same := true
	for _, r := range group {
		same = same && len(r.cells) == s.cols
	}
	if same {
		return group
	}
	widest := 0
	for i, r := range group {
		if i+1 < len(group) {
			r.cells = r.cells[:r.lengthBefore(group[i+1])]
		}
		widest = max(widest, len(r.cells))
	}
	return rewrap(group, widest+1, s.cols)
}

// unpaint makes a row of what paints it, by writing it to a screen of one row.
func (s *Screen) unpaint(l line) *row {
	one := &buffer{rows: []*row{newRow(int(l.cols), 0)}}
	one.setTabs(int(l.cols), 0)
	kept := *s
	s.buf, s.cols, s.rows = one, int(l.cols), 1
	s.pen, s.modes, s.charsets, s.joins = style{}, powerOn(modes{}), charsets{}, 0
	s.decoder, s.parser = decoder{}, parser{}
	s.parser.clear()
	s.penChanged()
	s.feed(l.paint)
	kept.styles, kept.clusters, kept.links = s.styles, s.clusters, s.links
	*s = kept
	s.penChanged()
	one.rows[0].wrapped = l.wrapped
	return one.rows[0]
}
