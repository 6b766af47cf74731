package screen

import "math"

const (
	maxParams    = 32
	maxSubParams = 32
)

// params are the numbers of a control sequence: "4:3;1" is two parameters, the
// first with one sub-parameter. What is left out is 0, a sub-parameter -1; what
// is too much is dropped.
type params struct {
	vals     [maxParams]int32
	subs     [maxSubParams]int32
	from, to [maxParams]uint8 // the sub-parameters of each
	n, nsub  int
	inSub    bool
	full     bool
	subFull  bool
}

func (p *params) reset() {
	p.n, p.nsub, p.inSub, p.full, p.subFull = 0, 0, false, false, false
	p.next()
}

func (p *params) next() {
	p.inSub = false
	if p.n == maxParams {
		p.full = true
		return
	}
	p.vals[p.n], p.from[p.n], p.to[p.n] = 0, uint8(p.nsub), uint8(p.nsub)
	p.n++
}

func (p *params) nextSub() {
	p.inSub = true
	if p.full || p.nsub == maxSubParams {
		p.subFull = true
		return
	}
	p.subs[p.nsub] = -1
	p.nsub++
	p.to[p.n-1]++
}

func (p *params) digit(d int32) {
	if p.full || p.inSub && p.subFull {
		return
	}
	v := &p.vals[p.n-1]
	if p.inSub {
		v = &p.subs[p.nsub-1]
	}
	if *v < 0 {
		*v = 0
	}
	*v = int32(min(int64(*v)*10+int64(d), math.MaxInt32))
}

// at is the i-th parameter, 0 if there is none.
func (p *params) at(i int) int {
	if i >= p.n {
		return 0
	}
	return int(p.vals[i])
}

// count is the i-th parameter where 0 means 1, as in movements.
func (p *params) count(i int) int { return max(p.at(i), 1) }

func (p *params) sub(i int) []int32 { return p.subs[p.from[i]:p.to[i]] }
