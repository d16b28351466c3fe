package index

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
)

// hasher hashes keys and terms with secrets of its own, so that clients can't
// choose keys that collide.
type hasher struct {
	seed  maphash.Seed
	none  [2]uint64 // stand for a missing host and a missing service
	mix   [2]uint64
	terms uint64

	// text is maphash.Bytes; tests put worse ones in its place.
	text func(seed maphash.Seed, b []byte) uint64
}

func newHasher() hasher {
	h := hasher{seed: maphash.MakeSeed(), text: maphash.Bytes}
	for _, secret := range []*uint64{&h.none[0], &h.none[1], &h.mix[0], &h.mix[1]} {
		*secret = rand.Uint64()
	}
	h.terms = rand.Uint64() | 1
	return h
}

// keyHash is the hash of a key, and those of its parts.
type keyHash struct {
	host, service uint64
	shard         uint32 // the bits that choose a shard
	slot          uint32 // those for the shard's table of keys
}

// key hashes a host and a service, nil being missing.
func (h *hasher) key(host, service []byte) keyHash {
	k := keyHash{host: h.none[0], service: h.none[1]}
	if host != nil {
		k.host = h.text(h.seed, host)
	}
	if service != nil {
		k.service = h.text(h.seed, service)
	}
	high, low := bits.Mul64(k.host^h.mix[0], k.service^h.mix[1])
	sum := high ^ low
	k.shard, k.slot = uint32(sum>>32), uint32(sum)
	return k
}

// term is the hash of a term in its field's table, from that of its text.
func (h *hasher) term(text uint64) uint32 {
	high, low := bits.Mul64(text, h.terms)
	return uint32(high ^ low)
}
