package screen

import "strconv"

// sgr changes the pen.
func (s *Screen) sgr(p *params) {
	pen := &s.pen
	defer s.penChanged()
	for i := 0; i < p.n; i++ {
		switch v := p.at(i); {
		case v == 0:
			*pen = style{link: pen.link}
		case v == 1:
			pen.flags |= bold
		case v == 2:
			pen.flags |= dim
		case v == 3:
			pen.flags |= italic
		case v == 4:
			n := int32(1)
			if sub := p.sub(i); len(sub) > 0 {
				n = sub[0]
			}
			pen.setUnderline(n)
		case v == 5:
			pen.flags |= blink
		case v == 7:
			pen.flags |= inverse
		case v == 8:
			pen.flags |= invisible
		case v == 9:
			pen.flags |= strike
		case v == 21:
			pen.setUnderline(2)
		case v == 22:
			pen.flags &^= bold | dim
		case v == 23:
			pen.flags &^= italic
		case v == 24:
			pen.setUnderline(0)
		case v == 25:
			pen.flags &^= blink
		case v == 27:
			pen.flags &^= inverse
		case v == 28:
			pen.flags &^= invisible
		case v == 29:
			pen.flags &^= strike
		case v >= 30 && v <= 37:
			pen.fg = color16 | color(v-30)
		case v >= 90 && v <= 97:
			pen.fg = color16 | color(v-90+8)
		case v == 39:
			pen.fg = colorDefault
		case v >= 40 && v <= 47:
			pen.bg = color16 | color(v-40)
		case v >= 100 && v <= 107:
			pen.bg = color16 | color(v-100+8)
		case v == 49:
			pen.bg = colorDefault
		case v == 53:
			pen.flags |= overline
		case v == 55:
			pen.flags &^= overline
		case v == 59:
			pen.ul = colorDefault
		case v == 38 || v == 48 || v == 58:
			i += pen.setColor(p, i)
		}
	}
}

func (st *style) setUnderline(n int32) {
	if n < 0 || n > 5 {
		n = 1
	}
	st.ulStyle = uint8(n)
	st.flags |= underline
	if n == 0 {
		st.flags &^= underline
	}
}

// setColor reads 38;5;n, 38;2;r;g;b and their forms with colons, and tells how
// many more parameters it took. With colons, a slot for the colour space stands
// before r, g and b, and one that is missing is not guessed: browsers do not.
func (st *style) setColor(p *params, i int) int {
	v := [6]int32{2: -1}
	shift, took := 0, 0
	for {
		v[took+shift] = p.vals[i+took]
		if sub := p.sub(i + took); len(sub) > 0 {
			for k, n := range sub {
				if v[1] == 5 {
					shift = 1
				}
				if took+k+1+shift >= len(v) {
					break
				}
				v[took+k+1+shift] = n
			}
			break
		}
		if v[1] == 5 && took+shift >= 2 || v[1] == 2 && took+shift >= 5 {
			break
		}
		if v[1] != 0 {
			shift = 1
		}
		took++
		if took+i >= p.n || took+shift >= len(v) {
			break
		}
	}
	for k := 2; k < len(v); k++ {
		v[k] = max(v[k], 0)
	}
	target := &st.fg
	switch v[0] {
	case 48:
		target = &st.bg
	case 58:
		target = &st.ul
	}
	switch v[1] {
	case 2:
		*target = colorRGB | color(v[3]&0xff)<<16 | color(v[4]&0xff)<<8 | color(v[5]&0xff)
	case 5:
		*target = color256 | color(v[3]&0xff)
	}
	return took
}

// appendSGR writes the sequence that makes any pen this one, but for its link.
func appendSGR(dst []byte, st style) []byte {
	dst = append(dst, "\x1b[0"...)
	for _, f := range [...]struct {
		flag flags
		code string
	}{{bold, ";1"}, {dim, ";2"}, {italic, ";3"}, {blink, ";5"}, {inverse, ";7"}, {invisible, ";8"}, {strike, ";9"}, {overline, ";53"}} {
		if st.flags&f.flag != 0 {
			dst = append(dst, f.code...)
		}
	}
	if st.flags&underline != 0 {
		dst = append(dst, ";4"...)
		if st.ulStyle > 1 {
			dst = append(dst, ':', '0'+st.ulStyle)
		}
	}
	dst = appendColor(dst, st.fg, 30)
	dst = appendColor(dst, st.bg, 40)
	dst = appendColor(dst, st.ul, 50)
	dst = append(dst, 'm')
	if st.flags&protected != 0 {
		dst = append(dst, "\x1b[1\"q"...)
	}
	return dst
}

func appendColor(dst []byte, c color, base int) []byte {
	v := int(c &^ colorMode)
	num := func(n int) { dst = strconv.AppendInt(append(dst, ';'), int64(n), 10) }
	switch c & colorMode {
	case color16:
		if v < 8 {
			num(base + v)
		} else {
			num(base + 60 + v - 8)
		}
	case color256:
		num(base + 8)
		num(5)
		num(v)
	case colorRGB:
		num(base + 8)
		num(2)
		num(v >> 16)
		num(v >> 8 & 0xff)
		num(v & 0xff)
	}
	return dst
}
