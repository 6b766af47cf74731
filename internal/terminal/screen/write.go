package screen

// slice is how much is taken between two looks at the tables.
const slice = 1 << 16

// Write feeds what the program wrote, cut anywhere. It never fails.
func (s *Screen) Write(p []byte) {
	for len(p) > slice {
		s.compact()
		s.feed(p[:slice])
		p = p[slice:]
	}
	s.compact()
	s.feed(p)
}

func (s *Screen) feed(p []byte) {
	for i := 0; i < len(p); {
		b := p[i]
		if s.decoder.need == 0 && b < 0x80 {
			if s.parser.state != ground {
				s.parser.step(rune(b), s)
				i++
				continue
			}
			switch {
			case b >= 0x20 && b < 0x7f:
				end := i + 1
				for end < len(p) && p[end] >= 0x20 && p[end] < 0x7f {
					end++
				}
				s.printASCII(p[i:end])
				i = end
			case b == 0x1b:
				s.parser.step(0x1b, s)
				i++
			default:
				s.execute(rune(b)) // and nothing for 0x7f
				i++
			}
			continue
		}
		c, again := s.decoder.next(b)
		if !again {
			i++
		}
		switch {
		case c < 0:
		case s.parser.state == ground && c >= 0xa0:
			s.print(c)
		default:
			s.parser.step(c, s)
		}
	}
}
