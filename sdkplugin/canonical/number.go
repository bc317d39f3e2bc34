package canonical

import (
	"bytes"
	"math"
	"strconv"
)

// scanNumber reads the number at pos and returns the position behind it and whether it is a float (fraction, exponent or -0).
// A negative end is ^(position of the error).
func scanNumber(s []byte, pos int) (end int, float bool) {
	negative := s[pos] == '-'
	if negative {
		pos++
	}
	switch {
	case pos >= len(s):
		return ^pos, false
	case s[pos] == '0':
		pos++
		float = negative
	case '1' <= s[pos] && s[pos] <= '9':
		pos = digits(s, pos)
	default:
		return ^pos, false
	}
	if pos < len(s) && s[pos] == '.' {
		float = true
		from := pos + 1
		if pos = digits(s, from); pos == from {
			return ^pos, false
		}
	}
	if pos < len(s) && s[pos]|0x20 == 'e' {
		float = true
		from := pos + 1
		if from < len(s) && (s[from] == '+' || s[from] == '-') {
			from++
		}
		if pos = digits(s, from); pos == from {
			return ^pos, false
		}
	}
	return pos, float
}

func digits(s []byte, pos int) int {
	for pos < len(s) && '0' <= s[pos] && s[pos] <= '9' {
		pos++
	}
	return pos
}

// appendFloat appends the canonical form of a valid number literal that scanNumber called a float.
func appendFloat(dst, literal []byte) []byte {
	f, err := strconv.ParseFloat(borrow(literal), 64)
	if err != nil || f == 0 && significant(literal) {
		return appendExact(dst, literal)
	}
	if f == 0 {
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	var buf [32]byte
	shortest := strconv.AppendFloat(buf[:0], f, 'e', -1, 64) // [-]d[.ddd]e±dd[d]
	if shortest[0] == '-' {
		dst = append(dst, '-')
		shortest = shortest[1:]
	}
	e := bytes.IndexByte(shortest, 'e')
	exponent, _ := strconv.Atoi(borrow(shortest[e+1:]))
	// The fraction moves one place to the left over the point, so that the digits stand together.
	mantissa := shortest[:e]
	if e > 1 {
		mantissa[1] = mantissa[0]
		mantissa = mantissa[1:]
	}
	return appendDigits(dst, mantissa, exponent+1)
}

// appendDigits writes 0.mantissa times ten to the power of point: plain as long as the point stands at most 16 digits to the
// right or four zeros to the left, else with an exponent.
func appendDigits(dst, mantissa []byte, point int) []byte {
	switch {
	case point > 16 || point <= -5:
		dst = append(dst, mantissa[0])
		if len(mantissa) > 1 {
			dst = append(dst, '.')
			dst = append(dst, mantissa[1:]...)
		}
		return strconv.AppendInt(append(dst, 'e'), int64(point-1), 10)
	case point <= 0:
		dst = append(dst, "0.0000"[:2-point]...)
		return append(dst, mantissa...)
	case point < len(mantissa):
		dst = append(dst, mantissa[:point]...)
		dst = append(dst, '.')
		return append(dst, mantissa[point:]...)
	}
	dst = append(dst, mantissa...)
	for range point - len(mantissa) {
		dst = append(dst, '0')
	}
	return append(dst, ".0"...)
}

// appendExact appends a number outside the range of float64 with all its digits, in scientific notation without needless
// zeros. An exponent of more than 18 digits is only stripped of its own zeros and plus sign; the mantissa then stays as it is.
func appendExact(dst, literal []byte) []byte {
	mantissa, exponent := literal, []byte(nil)
	if e := bytes.IndexAny(literal, "eE"); e >= 0 {
		mantissa, exponent = literal[:e], literal[e+1:]
	}
	negative := len(exponent) > 0 && exponent[0] == '-'
	exponent = bytes.TrimLeft(exponent, "+-0")
	if len(exponent) > 18 {
		dst = append(append(dst, mantissa...), 'e')
		if negative {
			dst = append(dst, '-')
		}
		return append(dst, exponent...)
	}
	power, _ := strconv.ParseInt(borrow(exponent), 10, 64) // empty is zero
	if negative {
		power = -power
	}
	if mantissa[0] == '-' {
		dst = append(dst, '-')
		mantissa = mantissa[1:]
	}
	point := bytes.IndexByte(mantissa, '.')
	if point < 0 {
		point = len(mantissa)
	}
	first := bytes.IndexAny(mantissa, "123456789")
	if first < point {
		power += int64(point - 1 - first)
	} else {
		power -= int64(first - point)
	}
	rest := bytes.TrimRight(mantissa[first+1:], "0.")
	dst = append(dst, mantissa[first])
	if len(rest) > 0 {
		dst = append(dst, '.')
	}
	for _, c := range rest {
		if c != '.' {
			dst = append(dst, c)
		}
	}
	return strconv.AppendInt(append(dst, 'e'), power, 10)
}

// significant tells whether the number has a digit other than zero before its exponent.
func significant(literal []byte) bool {
	for _, c := range literal {
		switch {
		case c|0x20 == 'e':
			return false
		case '1' <= c && c <= '9':
			return true
		}
	}
	return false
}
