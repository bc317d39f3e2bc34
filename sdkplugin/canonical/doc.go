// Package canonical reads JSON strictly and writes it in the one compact form that ctx stores, measures and digests.
//
// Vocabulary. A document (Doc) is one parsed JSON text: a flat array of nodes in the order of the text, each with the span of
// the bytes it came from. A value (Value) is one node of a document. A literal is a string as it stands in JSON, quotes and
// escapes included. The canonical form of a value has no white space; object keys sorted by their UTF-8 bytes, a repeated key
// keeping its last value; integers digit for digit; floats in the shortest form that reads back as the same 64-bit number;
// strings with only the quote, the backslash and the control characters escaped.
//
// # Reading
//
// The grammar is RFC 8259, nothing more. Refused as well: text that is not UTF-8, raw control characters inside strings (the
// RFC demands both) and containers nested deeper than MaxDepth. Repeated keys are kept in order; Get sees the last one. An
// escaped surrogate without its partner is legal and decodes to U+FFFD.
//
// # Numbers
//
// A literal without fraction and exponent is an integer of any size and is copied digit for digit; only -0 becomes -0.0,
// because no integer keeps its sign. Every other literal is a float, rounded to the nearest 64-bit number and written with the
// fewest digits that read back as that number: as decimal digits with a point when the decimal point falls behind at most 16
// digits and before at most four zeros (1.0, 0.00001, 1000000000000000.0), else as d.ddde±x without a plus sign (1e16,
// 2.5e-7). A literal that no 64-bit number can hold (1e400, or 1e-400, which would turn into zero) keeps all its digits in the
// second notation, so that no valid number is lost.
//
// A Doc is not safe for concurrent use: even reading a Value may use the document's scratch memory.
package canonical

// MaxDepth is the deepest nesting of arrays and objects that is read: `[]` has depth 1.
const MaxDepth = 128

// MaxSize is the longest text in bytes that a Doc parses; spans are 32 bits wide.
const MaxSize = 1<<31 - 1

// MaxValues is how many values one text may hold: at 28 bytes each, their nodes take at most 56 MiB.
const MaxValues = 1 << 21

// Kind is the JSON type of a value. Zero stands for no value at all.
type Kind uint8

// The kinds of JSON values.
const (
	Invalid Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// Node flags, private to the package.
const (
	flagEscaped    uint8 = 1 << iota // a string literal with at least one escape
	flagKeyEscaped                   // the same of the member's key
	flagFloat                        // a number with fraction or exponent, or -0, or a container that holds one
	flagLoose                        // the raw bytes are not known to be the canonical form
	flagKeyLoose                     // the same of the member's key
	flagUnsorted                     // an object whose keys do not ascend strictly
)

// Node is one value of a document. Spans count bytes of the parsed text. Nodes stand in the order of the text, a container
// before its children: the first child of node i is node i+1, the next sibling is node Next.
type Node struct {
	Start, End       uint32 // the raw value
	KeyStart, KeyEnd uint32 // the raw key literal with its quotes; both zero for elements and for the root
	Next             uint32 // index of the node behind this value's last descendant
	Count            uint32 // number of members or elements
	Kind             Kind
	flags            uint8
}

// Doc is a parsed document. The zero Doc is ready for Parse, which reuses its memory: values and decoded bytes of the document
// before are then invalid.
type Doc struct {
	src     []byte
	nodes   []Node
	scratch []byte    // decoded strings, valid until the next Parse
	order   []ordered // stack of member lists that the writer is sorting
	fault   SyntaxError
}

// Nodes returns the flat node array; the root is node 0. It is valid until the next Parse.
func (d *Doc) Nodes() []Node { return d.nodes }

// Source returns the text that was parsed, not a copy.
func (d *Doc) Source() []byte { return d.src }

// Root returns the outermost value, or the zero Value if the last Parse failed.
func (d *Doc) Root() Value {
	if len(d.nodes) == 0 {
		return Value{}
	}
	return Value{d, 0}
}
