package tunnel

// maxDepth is how deep a frame may nest. It is the deepest that upstream is
// known to take; 10,000 levels make it fail (tunnel.md 4, 18 W21).
const maxDepth = 3000

// container reads an array or object with all that is in it.
func (s *scanner) container() (value, error) {
	start := s.pos
	var open nesting
	for {
		// A value begins here: go down, or read it.
		c := s.peek()
		if c == '{' || c == '[' {
			if !open.push(c == '{') {
				return value{}, s.fail("nested too deep")
			}
			s.pos++
			if c == '{' && !s.take('}') {
				if _, err := s.key(); err != nil {
					return value{}, err
				}
				continue
			} else if c == '[' && !s.take(']') {
				continue
			}
			open.depth-- // it was empty
		} else if _, err := s.scalar(c); err != nil {
			return value{}, err
		}
		// A value ended here: close what ends with it, then go on behind a comma.
		for open.depth > 0 && s.take(open.closer()) {
			open.depth--
		}
		if open.depth == 0 {
			typ := typeArray
			if s.data[start] == '{' {
				typ = typeObject
			}
			return value{text: s.data[start:s.pos], typ: typ}, nil
		}
		if !s.take(',') {
			return value{}, s.fail("expected ',' or the end of an array or object")
		}
		if open.closer() == '}' {
			if _, err := s.key(); err != nil {
				return value{}, err
			}
		}
	}
}

// nesting is the stack of open containers, a bit each: set for an object. The
// frame itself is one level more.
type nesting struct {
	depth int
	bits  [(maxDepth + 63) / 64]uint64
}

func (n *nesting) push(object bool) bool {
	if n.depth+1 >= maxDepth {
		return false
	}
	mask := uint64(1) << (n.depth % 64)
	if object {
		n.bits[n.depth/64] |= mask
	} else {
		n.bits[n.depth/64] &^= mask
	}
	n.depth++
	return true
}

// closer returns the byte that ends the innermost open container.
func (n *nesting) closer() byte {
	if top := n.depth - 1; n.bits[top/64]>>(top%64)&1 == 1 {
		return '}'
	}
	return ']'
}
