package canonical

import "bytes"

// IsCanonical tells whether src is exactly the canonical form of one JSON value. It is one pass over src without allocation
// (numbers outside the range of float64 aside), for checking what another process claims to be canonical.
func IsCanonical(src []byte) bool {
	return len(src) <= MaxSize && checkValue(src, 0, 0) == len(src)
}

// checkValue returns the position behind the canonical value at pos, or -1.
func checkValue(s []byte, pos, depth int) int {
	if pos >= len(s) {
		return -1
	}
	switch s[pos] {
	case '"':
		return checkString(s, pos)
	case '{':
		return checkObject(s, pos, depth+1)
	case '[':
		return checkArray(s, pos, depth+1)
	case 'n':
		return checkWord(s, pos, "null")
	case 't':
		return checkWord(s, pos, "true")
	case 'f':
		return checkWord(s, pos, "false")
	}
	end, float := scanNumber(s, pos)
	if end < 0 {
		return -1
	}
	if float {
		var buf [64]byte
		if !bytes.Equal(appendFloat(buf[:0], s[pos:end]), s[pos:end]) {
			return -1
		}
	}
	return end
}

func checkWord(s []byte, pos int, word string) int {
	if end := pos + len(word); end <= len(s) && string(s[pos:end]) == word {
		return end
	}
	return -1
}

func checkString(s []byte, pos int) int {
	if pos >= len(s) || s[pos] != '"' {
		return -1
	}
	end, _, loose := scanString(s, pos+1)
	if end < 0 || loose {
		return -1
	}
	return end
}

func checkArray(s []byte, pos, depth int) int {
	if depth > MaxDepth {
		return -1
	}
	if pos+1 < len(s) && s[pos+1] == ']' {
		return pos + 2
	}
	for {
		pos = checkValue(s, pos+1, depth)
		if pos < 0 || pos >= len(s) {
			return -1
		}
		switch s[pos] {
		case ',':
		case ']':
			return pos + 1
		default:
			return -1
		}
	}
}

func checkObject(s []byte, pos, depth int) int {
	if depth > MaxDepth {
		return -1
	}
	if pos+1 < len(s) && s[pos+1] == '}' {
		return pos + 2
	}
	var last []byte
	for first := true; ; first = false {
		start := pos + 1
		pos = checkString(s, start)
		if pos < 0 || pos >= len(s) || s[pos] != ':' {
			return -1
		}
		key := s[start+1 : pos-1]
		if !first && !ascend(last, key) {
			return -1
		}
		last = key
		pos = checkValue(s, pos+1, depth)
		if pos < 0 || pos >= len(s) {
			return -1
		}
		switch s[pos] {
		case ',':
		case '}':
			return pos + 1
		default:
			return -1
		}
	}
}

// ascend tells whether the decoded form of a is less than that of b. Both are insides of canonical literals, whose escapes
// each stand for one byte.
func ascend(a, b []byte) bool {
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return bytes.Compare(a, b) < 0
	}
	for len(a) > 0 && len(b) > 0 {
		var x, y byte
		x, a = nextByte(a)
		y, b = nextByte(b)
		if x != y {
			return x < y
		}
	}
	return len(a) == 0 && len(b) > 0
}

func nextByte(s []byte) (byte, []byte) {
	if s[0] != '\\' {
		return s[0], s[1:]
	}
	if s[1] == 'u' {
		return byte(hex4(s, 2)), s[6:]
	}
	return unescaped[s[1]], s[2:]
}
