package tunnel

import (
	"crypto/rand"
	"sync/atomic"
)

// Opcodes of RFC 6455, 5.2.
const (
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xa
)

// finBit marks an unfragmented frame, maskBit a masked one.
const (
	finBit  = 0x80
	maskBit = 0x80
)

// appendControl appends a whole control frame of RFC 6455, 5.5: masked on the
// runner's side, bare on the server's. The payload is at most 125 bytes.
func appendControl(dst []byte, opcode byte, payload []byte, masked bool) []byte {
	dst = append(dst, finBit|opcode, byte(len(payload)))
	if !masked {
		return append(dst, payload...)
	}
	dst[len(dst)-1] |= maskBit
	var key [4]byte
	_, _ = rand.Read(key[:]) // never fails: crypto/rand ends the program instead
	dst = append(dst, key[:]...)
	for i, b := range payload {
		dst = append(dst, b^key[i%len(key)])
	}
	return dst
}

// debt is the newest ping of the peer that is not answered yet. RFC 6455
// allows to answer only the newest, so it needs no queue.
type debt struct{ owed atomic.Pointer[[]byte] }

// owe remembers a ping; the payload is copied, since the library reuses it.
func (d *debt) owe(payload []byte) {
	p := append([]byte(nil), payload...)
	d.owed.Store(&p)
}

// take returns the payload to answer, and whether there is one.
func (d *debt) take() ([]byte, bool) {
	p := d.owed.Swap(nil)
	if p == nil {
		return nil, false
	}
	return *p, true
}
