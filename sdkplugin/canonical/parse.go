package canonical

import (
	"bytes"
	"fmt"
)

// Code classifies why a text was refused.
type Code uint8

// The classes of refusal.
const (
	Malformed Code = iota // breaks the grammar or ends too early
	NotUTF8               // holds bytes that are not UTF-8
	Control               // a raw control character inside a string
	TooDeep               // nested deeper than MaxDepth
	TooLarge              // longer than MaxSize
	TooMany               // more than MaxValues values
	Trailing              // a complete value with something behind it
)

var reasons = [...]string{
	Malformed: "malformed value", NotUTF8: "invalid UTF-8", Control: "control character in a string",
	TooDeep: "nested too deep", TooLarge: "text too large", TooMany: "too many values",
	Trailing: "bytes behind the value",
}

// SyntaxError says why and where (byte offset) a text was refused.
type SyntaxError struct {
	Code   Code
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("json: %s at byte %d", e.Reason, e.Offset) }

// longText is the length of a text whose values are counted before they are read, in bytes.
const longText = 1 << 20

// Parse reads exactly one JSON value with optional white space around it. Values point into src, which must not change while
// they are used. Bytes that are not UTF-8 are reported before any other defect. The error is a *SyntaxError, overwritten by the next parse of the same document; the document is then empty.
func (d *Doc) Parse(src []byte) error {
	d.reset(src)
	if len(src) > MaxSize {
		return d.refuse(TooLarge, MaxSize)
	}
	if len(src) > longText {
		// Every value but the first follows one of these. Growing step by step would take twice the memory of millions of values.
		most := 1 + bytes.Count(src, []byte(",")) + bytes.Count(src, []byte("[")) + bytes.Count(src, []byte("{"))
		if most = min(most, MaxValues); cap(d.nodes) < most {
			d.nodes = make([]Node, 0, most)
		}
	}
	end := d.value(skipSpace(src, 0), 0)
	if end >= 0 {
		if end = skipSpace(src, end); end == len(src) {
			return nil
		}
		d.fail(Trailing, end)
	}
	if at := invalidUTF8(src); at >= 0 {
		return d.refuse(NotUTF8, at)
	}
	return d.refuse(d.fault.Code, d.fault.Offset)
}

// ParsePrefix reads one value from the start of src, white space before it allowed, and leaves the rest unread. n is the
// offset behind the value, or, with an error, the offset where reading failed. Only the value itself must be UTF-8.
func (d *Doc) ParsePrefix(src []byte) (n int, err error) {
	if len(src) > MaxSize {
		src = src[:MaxSize]
	}
	d.reset(src)
	end := d.value(skipSpace(src, 0), 0)
	if end < 0 {
		return d.fault.Offset, d.refuse(d.fault.Code, d.fault.Offset)
	}
	return end, nil
}

func (d *Doc) reset(src []byte) {
	d.src, d.nodes, d.scratch = src, d.nodes[:0], d.scratch[:0]
}

func (d *Doc) refuse(code Code, offset int) error {
	d.nodes = d.nodes[:0]
	d.fault = SyntaxError{Code: code, Offset: offset, Reason: reasons[code]}
	return &d.fault
}

// fail notes the reason of a failure inside the recursion and returns the position -1, which every caller passes on.
func (d *Doc) fail(code Code, offset int) int {
	d.fault.Code, d.fault.Offset = code, offset
	return -1
}

// value reads the value that starts at pos, appends its nodes and returns the position behind it, or -1.
func (d *Doc) value(pos, depth int) int {
	switch {
	case pos >= len(d.src):
		return d.fail(Malformed, pos)
	case len(d.nodes) == MaxValues:
		return d.fail(TooMany, pos)
	}
	switch c := d.src[pos]; c {
	case '"':
		end, escaped, loose := scanString(d.src, pos+1)
		if end < 0 {
			return d.fail(stringFault(d.src, ^end), ^end)
		}
		var flags uint8
		if escaped {
			flags = flagEscaped
		}
		if loose {
			flags |= flagLoose
		}
		return d.leaf(String, pos, end, flags)
	case '{':
		return d.object(pos, depth+1)
	case '[':
		return d.array(pos, depth+1)
	case 'n':
		return d.word(Null, "null", pos)
	case 't':
		return d.word(True, "true", pos)
	case 'f':
		return d.word(False, "false", pos)
	default:
		end, float := scanNumber(d.src, pos)
		if end < 0 {
			return d.fail(Malformed, ^end)
		}
		if float {
			return d.leaf(Number, pos, end, flagFloat)
		}
		return d.leaf(Number, pos, end, 0)
	}
}

func (d *Doc) leaf(kind Kind, start, end int, flags uint8) int {
	d.nodes = append(d.nodes, Node{
		Start: uint32(start), End: uint32(end), Next: uint32(len(d.nodes) + 1), Kind: kind, flags: flags,
	})
	return end
}

func (d *Doc) word(kind Kind, word string, pos int) int {
	end := pos + len(word)
	if end > len(d.src) || string(d.src[pos:end]) != word {
		return d.fail(Malformed, pos)
	}
	return d.leaf(kind, pos, end, 0)
}

// closeNode completes a container whose last child has been appended.
func (d *Doc) closeNode(index, end int, count uint32, flags uint8) int {
	n := &d.nodes[index]
	n.End, n.Next, n.Count, n.flags = uint32(end), uint32(len(d.nodes)), count, flags
	return end
}

func (d *Doc) array(pos, depth int) int {
	if depth > MaxDepth {
		return d.fail(TooDeep, pos)
	}
	index := len(d.nodes)
	d.nodes = append(d.nodes, Node{Start: uint32(pos), Kind: Array})
	var count uint32
	var flags uint8
	pos = d.gap(pos+1, &flags)
	if pos < len(d.src) && d.src[pos] == ']' {
		return d.closeNode(index, pos+1, 0, flags)
	}
	for {
		child := len(d.nodes)
		if pos = d.value(pos, depth); pos < 0 {
			return pos
		}
		count++
		flags |= d.nodes[child].flags & (flagLoose | flagFloat)
		pos = d.gap(pos, &flags)
		if pos >= len(d.src) {
			return d.fail(Malformed, pos)
		}
		switch d.src[pos] {
		case ',':
			pos = d.gap(pos+1, &flags)
		case ']':
			return d.closeNode(index, pos+1, count, flags)
		default:
			return d.fail(Malformed, pos)
		}
	}
}

func (d *Doc) object(pos, depth int) int {
	if depth > MaxDepth {
		return d.fail(TooDeep, pos)
	}
	index := len(d.nodes)
	d.nodes = append(d.nodes, Node{Start: uint32(pos), Kind: Object})
	var count uint32
	var flags uint8
	last := -1 // the member before, while the keys ascend strictly
	pos = d.gap(pos+1, &flags)
	if pos < len(d.src) && d.src[pos] == '}' {
		return d.closeNode(index, pos+1, 0, flags)
	}
	for {
		child := len(d.nodes)
		if pos = d.member(pos, depth, &flags); pos < 0 {
			return pos
		}
		n := &d.nodes[child]
		if n.flags&(flagLoose|flagKeyLoose) != 0 {
			flags |= flagLoose
		}
		flags |= n.flags & flagFloat
		if count > 0 && flags&flagUnsorted == 0 && d.compareKeys(&d.nodes[last], n) >= 0 {
			flags |= flagUnsorted | flagLoose
		}
		last = child
		count++
		if pos >= len(d.src) {
			return d.fail(Malformed, pos)
		}
		switch d.src[pos] {
		case ',':
			pos = d.gap(pos+1, &flags)
		case '}':
			return d.closeNode(index, pos+1, count, flags)
		default:
			return d.fail(Malformed, pos)
		}
	}
}

// member reads key, colon and value and the white space behind them.
func (d *Doc) member(pos, depth int, flags *uint8) int {
	if pos >= len(d.src) || d.src[pos] != '"' {
		return d.fail(Malformed, pos)
	}
	keyStart := pos
	keyEnd, escaped, loose := scanString(d.src, pos+1)
	if keyEnd < 0 {
		return d.fail(stringFault(d.src, ^keyEnd), ^keyEnd)
	}
	pos = d.gap(keyEnd, flags)
	if pos >= len(d.src) || d.src[pos] != ':' {
		return d.fail(Malformed, pos)
	}
	child := len(d.nodes)
	if pos = d.value(d.gap(pos+1, flags), depth); pos < 0 {
		return pos
	}
	n := &d.nodes[child]
	n.KeyStart, n.KeyEnd = uint32(keyStart), uint32(keyEnd)
	if escaped {
		n.flags |= flagKeyEscaped
	}
	if loose {
		n.flags |= flagKeyLoose
	}
	return d.gap(pos, flags)
}

// gap passes white space inside a container, which the canonical form does not have.
func (d *Doc) gap(pos int, flags *uint8) int {
	if pos < len(d.src) && d.src[pos] > ' ' {
		return pos
	}
	after := skipSpace(d.src, pos)
	if after != pos {
		*flags |= flagLoose
	}
	return after
}

// stringFault tells what scanString stumbled over at pos.
func stringFault(s []byte, pos int) Code {
	switch {
	case pos >= len(s) || s[pos] == '\\':
		return Malformed
	case s[pos] < 0x20:
		return Control
	}
	return NotUTF8
}
