package lexical

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// scanner walks the tokens of a text.
//
// It classifies the text in blocks of 64 bytes into bit masks and finds runs by counting zeros: looking at byte after byte costs two
// mispredicted branches a token, which is three times as long. Runs with characters of several bytes go through nextWide.
type scanner struct {
	text []byte

	// The current token, valid until the next call of next.
	token      []byte // in buf
	head       uint64 // its first 8 bytes, see tokenHead
	start, end int    // the range of text it comes from

	base int    // position in text of the block
	runs uint64 // bytes of the block not yet looked at that may belong into a run: letters, digits and parts of wide characters
	wide uint64 // bytes with the top bit
	buf  [maxTokenBytes]byte
}

const blockBytes = 64

func (s *scanner) reset(text []byte) {
	s.text = text
	s.load(0)
}

// load classifies the block at a position.
func (s *scanner) load(base int) {
	s.base = base
	if base+blockBytes <= len(s.text) {
		s.classify((*[blockBytes]byte)(s.text[base:]))
		return
	}
	var padded [blockBytes]byte // zeros separate
	copy(padded[:], s.text[base:])
	s.classify(&padded)
}

const (
	eachByte = 0x0101010101010101
	topBits  = 0x80 * eachByte
)

// classify treats 8 bytes at once: adding a distance to 7 bits carries into the eighth exactly from the wanted character on.
func (s *scanner) classify(block *[blockBytes]byte) {
	var runs, tops uint64
	for i := 0; i < blockBytes; i += 8 {
		x := binary.LittleEndian.Uint64(block[i : i+8])
		top := x & topBits
		low := x &^ topBits
		folded := low | 0x20*eachByte
		letter := (folded + (0x80-'a')*eachByte) &^ (folded + (0x80-'z'-1)*eachByte)
		digit := (low + (0x80-'0')*eachByte) &^ (low + (0x80-'9'-1)*eachByte)
		runs |= gather((letter|digit)&topBits|top) << i
		tops |= top
	}
	s.runs, s.wide = runs, 0
	if tops == 0 {
		return
	}
	for i := 0; i < blockBytes; i += 8 {
		s.wide |= gather(binary.LittleEndian.Uint64(block[i:i+8])&topBits) << i
	}
}

// gather moves the top bits of 8 bytes into 8 neighbouring bits.
func gather(top uint64) uint64 { return top >> 7 * 0x0102040810204080 >> 56 }

// next finds the next token.
func (s *scanner) next() bool {
	for {
		for s.runs == 0 {
			if s.base+blockBytes >= len(s.text) {
				return false
			}
			s.load(s.base + blockBytes)
		}
		from := bits.TrailingZeros64(s.runs) & 63
		length := bits.TrailingZeros64(^(s.runs >> from))
		mask := uint64(1)<<length - 1
		start := s.base + from
		wide := s.wide >> from & mask
		s.runs &^= mask << from
		if from+length == blockBytes && s.base+blockBytes < len(s.text) { // the run may go on in the next block
			s.load(s.base + blockBytes)
			more := bits.TrailingZeros64(^s.runs)
			mask = uint64(1)<<more - 1
			wide |= s.wide & mask
			s.runs &^= mask
			length += more
		}
		if wide != 0 {
			if s.nextWide(start) {
				return true
			}
			continue
		}
		if length > chunkChars {
			s.take(start, chunkChars)
			s.load(start + strideChars)
			return true
		}
		s.take(start, length)
		return true
	}
}

// take makes a run of ASCII the current token. It lower-cases everything, 8 bytes at once, rather than ask what needs it.
func (s *scanner) take(start, length int) {
	s.start, s.end = start, start+length
	run := s.text[start : start+length]
	s.head = lowerWord(tokenHead(run))
	binary.LittleEndian.PutUint64(s.buf[:], s.head)
	for i := 8; i < length; i += 8 {
		binary.LittleEndian.PutUint64(s.buf[i:], lowerWord(tokenHead(run[i:])))
	}
	s.token = s.buf[:length]
}

// lowerWord lower-cases 8 bytes of ASCII.
func lowerWord(x uint64) uint64 {
	upper := (x + (0x80-'A')*eachByte) &^ (x + (0x80-'Z'-1)*eachByte) & topBits
	return x | upper>>2
}

// tokenHead returns the first 8 bytes of a token as a little endian number, filled up with zeros.
func tokenHead(token []byte) uint64 {
	if cap(token) >= 8 { // bytes behind a short token are there to read, and cut off again
		head := binary.LittleEndian.Uint64(token[:8])
		if len(token) < 8 {
			head &= 1<<(8*len(token)) - 1
		}
		return head
	}
	var head [8]byte
	copy(head[:], token)
	return binary.LittleEndian.Uint64(head[:])
}

// nextWide finds the next token at or after start, character by character. It returns false without a token at the end of the text or
// where only ASCII follows; next then goes on.
func (s *scanner) nextWide(start int) bool {
	text, i := s.text, start
	token := s.buf[:0]
	chars, stride := 0, 0
	for i < len(text) {
		c, size := utf8.DecodeRune(text[i:])
		word, dense := isWord(c), isDense(c)
		if !word && !dense {
			if chars > 0 {
				break
			}
			i += size
			start = i
			if c < utf8.RuneSelf {
				break
			}
			continue
		}
		if dense {
			if chars == 0 {
				token = appendLower(token, c)
				i += size
			}
			break
		}
		if chars == chunkChars {
			s.takeWide(token, start, i, stride)
			return true
		}
		token = appendLower(token, c)
		i += size
		if chars++; chars == strideChars {
			stride = i
		}
	}
	s.takeWide(token, start, i, i)
	return len(token) > 0
}

// takeWide makes a token of nextWide the current one and goes on at a position.
func (s *scanner) takeWide(token []byte, start, end, next int) {
	s.token, s.start, s.end = token, start, end
	s.head = tokenHead(token)
	s.load(next)
}
