package lexical

import "encoding/binary"

// Serialized form of roaring bitmaps (the portable RoaringFormatSpec), written straight from an ascending list of numbers.
const (
	bitmapCookie     = 12346 // no run container: cookie, container count, headers, offsets
	bitmapCookieRuns = 12347 // low half; upper half = containers - 1; then one flag bit a container, headers, offsets from 4 containers on
	arrayMaxNumbers  = 4096  // more make a bitmap of 8 KiB
	bitmapBytes      = 8192
	offsetsFrom      = 4
)

// container is one group of numbers with the same upper 16 bits.
type container struct {
	numbers []uint32
	runs    int
}

func (c container) isRun() bool { return 2+4*c.runs < c.plainBytes() }

func (c container) plainBytes() int {
	if len(c.numbers) > arrayMaxNumbers {
		return bitmapBytes
	}
	return 2 * len(c.numbers)
}

func (c container) bytes() int {
	if c.isRun() {
		return 2 + 4*c.runs
	}
	return c.plainBytes()
}

// appendBitmap appends the serialized bitmap of the numbers, which ascend and are not empty. A container is stored as runs where that is
// smaller. containers is scratch, returned for reuse.
//
// The header with run flags is used below 4 containers even if no flag is set: it is 7 bytes shorter, and most posting lists are short.
func appendBitmap(dst []byte, numbers []uint32, containers []container) ([]byte, []container) {
	containers = splitContainers(containers[:0], numbers)
	withFlags := len(containers) < offsetsFrom
	for _, c := range containers {
		withFlags = withFlags || c.isRun()
	}
	start := len(dst)
	if withFlags {
		dst = binary.LittleEndian.AppendUint32(dst, bitmapCookieRuns|uint32(len(containers)-1)<<16)
		flags := len(dst)
		dst = append(dst, make([]byte, (len(containers)+7)/8)...)
		for i, c := range containers {
			if c.isRun() {
				dst[flags+i/8] |= 1 << (i % 8)
			}
		}
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, bitmapCookie)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(containers)))
	}
	for _, c := range containers {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(c.numbers[0]>>16))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(c.numbers)-1))
	}
	if !withFlags || len(containers) >= offsetsFrom {
		offset := len(dst) - start + 4*len(containers)
		for _, c := range containers {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(offset))
			offset += c.bytes()
		}
	}
	for _, c := range containers {
		dst = c.append(dst)
	}
	return dst, containers
}

func splitContainers(containers []container, numbers []uint32) []container {
	for len(numbers) > 0 {
		upper := numbers[0] >> 16
		c := container{runs: 1}
		n := 1
		for n < len(numbers) && numbers[n]>>16 == upper {
			if numbers[n] != numbers[n-1]+1 {
				c.runs++
			}
			n++
		}
		c.numbers, numbers = numbers[:n], numbers[n:]
		containers = append(containers, c)
	}
	return containers
}

func (c container) append(dst []byte) []byte {
	switch {
	case c.isRun():
		return c.appendRuns(dst)
	case len(c.numbers) <= arrayMaxNumbers:
		for _, n := range c.numbers {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		}
		return dst
	}
	var words [bitmapBytes / 8]uint64
	for _, n := range c.numbers {
		words[uint16(n)/64] |= 1 << (n % 64)
	}
	for _, w := range words {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

func (c container) appendRuns(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(c.runs))
	for i := 0; i < len(c.numbers); {
		from := i
		for i++; i < len(c.numbers) && c.numbers[i] == c.numbers[i-1]+1; i++ {
		}
		dst = binary.LittleEndian.AppendUint16(dst, uint16(c.numbers[from]))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(i-from-1))
	}
	return dst
}
