package store

import (
	"crypto/rand"
	"encoding/hex"
)

// NewID makes an id as the wire has it: 32 lowercase hex digits, 128 random
// bits (server.md 0).
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return hex.EncodeToString(b[:])
}
