package lexical

import (
	"bytes"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// TokenizerRevision identifies the rules below. An index made with another revision cannot be queried: index and query tokens must
// agree. Rules of revision 2:
//
//   - a character of a dense script (Thai, Lao, Myanmar, Hangul, Khmer, kana, Han) is a token by itself;
//   - any other maximal run of alphanumeric characters is a token, everything else separates;
//   - a run of more than 32 characters gives chunks of 32 characters, each starting 24 characters after the one before, up to the
//     first that reaches the end of the run;
//   - every character is lower-cased on its own, without locale or context.
const TokenizerRevision = 2

const (
	chunkChars  = 32
	strideChars = 24
	// maxTokenBytes: no character grows beyond 4 bytes by lower-casing.
	maxTokenBytes = chunkChars * utf8.UTFMax
)

// denseRanges are the scripts written without spaces, ascending.
var denseRanges = [...][2]rune{
	{0x0E00, 0x0EFF}, {0x1000, 0x109F}, {0x1100, 0x11FF}, {0x1780, 0x17FF}, {0x3040, 0x30FF}, {0x3130, 0x318F},
	{0x31F0, 0x31FF}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xAC00, 0xD7AF}, {0xF900, 0xFAFF},
}

func isDense(c rune) bool {
	if c < denseRanges[0][0] {
		return false
	}
	for _, r := range denseRanges {
		if c <= r[1] {
			return c >= r[0]
		}
	}
	return false
}

// isWord reports whether c belongs into a run: the Unicode property Alphabetic or a number. Other_Alphabetic holds the vowel signs of
// many scripts, without which their words would fall apart.
func isWord(c rune) bool {
	if isSymbol(c) {
		return false
	}
	return unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.Is(unicode.Other_Alphabetic, c)
}

// isSymbol reports characters of the blocks of dashes, quotes, arrows, mathematics, box drawing and pictures, of which the output of tools
// is full: no letters or numbers in there, and half the time of a look through three tables saved.
func isSymbol(c rune) bool {
	switch {
	case c < 0x2010:
		return false
	case c < 0x205F, 0x2190 <= c && c < 0x2460, 0x2500 <= c && c < 0x2776, 0x1F300 <= c && c < 0x1FB00, c == utf8.RuneError:
		return true
	}
	return false
}

// appendLower appends the full lower case of one character.
func appendLower(dst []byte, c rune) []byte {
	if c == '\u0130' { // the only character whose lower case is two characters
		return append(dst, "i\u0307"...)
	}
	return utf8.AppendRune(dst, unicode.ToLower(c))
}

// scanners are reused: the token handed to a callback would otherwise cost an allocation a text.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// EachSpan calls visit for every token of text, in order, with the byte range of text it was made from, until visit returns false.
// Ranges of neighbouring chunks of one long run overlap. The token is only valid during the call.
func EachSpan(text []byte, visit func(token []byte, start, end int) bool) {
	s := scanners.Get().(*scanner)
	defer func() {
		s.text, s.token = nil, nil
		scanners.Put(s)
	}()
	s.reset(text)
	for s.next() {
		if !visit(s.token, s.start, s.end) {
			return
		}
	}
}

// QueryTerms returns the distinct tokens of all texts in byte order: the terms of a Query.
func QueryTerms(texts ...string) [][]byte {
	var terms [][]byte
	for _, text := range texts {
		EachSpan([]byte(text), func(token []byte, _, _ int) bool {
			terms = append(terms, bytes.Clone(token))
			return true
		})
	}
	slices.SortFunc(terms, bytes.Compare)
	return slices.CompactFunc(terms, bytes.Equal)
}
