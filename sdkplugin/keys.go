package sdkplugin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Key is one typed key in its encoded form: a tag byte, then the value. Build
// it with Utf8, U64 and the like, or without allocation with AppendUtf8 and the
// like. Two keys are the same key exactly when their bytes are equal, so Utf8("1")
// and U64(1) are different keys.
type Key []byte

// NativeKey is the encoded native key of a session or event: NativeID,
// Composite or Position. The host hashes it into the public id, so it must be
// made of things that never change: native ids, occurrence numbers, content
// digests; never of paths, times of files or offsets.
type NativeKey []byte

// Anchor identifies a source wherever its file lies: NativeAnchor when the
// agent gives its histories an id of their own, else LineageAnchor.
type Anchor []byte

// Stability says how long the key of a Position keeps its meaning.
type Stability byte

const (
	AppendStable   Stability = 1 // never moves while the source only grows, e.g. a line ordinal
	StableSlot     Stability = 2 // one slot of a fixed layout, e.g. the title of a document
	RevisionScoped Stability = 3 // only inside one revision of the source, which is the scope
)

const (
	tagNull  = 0
	tagBytes = 1
	tagUtf8  = 2
	tagI64   = 3
	tagU64   = 4
	tagF64   = 5
	tagBool  = 6
	tagList  = 7

	formNativeID  = 1
	formComposite = 2
	formPosition  = 3

	anchorLineage = 2
	lineageBytes  = 32
)

// Null is the key of an absent part.
func Null() Key { return Key{tagNull} }

// Bytes is a key of raw bytes, e.g. a digest.
func Bytes(b []byte) Key { return AppendBytes(nil, b) }

// Utf8 is a key of text: native ids go here verbatim, never trimmed or folded.
// The text must not be empty (use Null).
func Utf8(s string) Key { return AppendUtf8(nil, s) }

// I64 is a signed number.
func I64(n int64) Key { return appendFixed(nil, tagI64, uint64(n)) }

// U64 is an unsigned number, e.g. an ordinal or an occurrence.
func U64(n uint64) Key { return AppendU64(nil, n) }

// F64 is a floating-point number, by its bits.
func F64(f float64) Key { return appendFixed(nil, tagF64, math.Float64bits(f)) }

// Bool is a truth value.
func Bool(b bool) Key {
	if b {
		return Key{tagBool, 1}
	}
	return Key{tagBool, 0}
}

// List is one key made of several, at most MaxComponents.
func List(items ...Key) Key {
	dst := AppendList(nil, len(items))
	for _, item := range items {
		dst = append(dst, item...)
	}
	return dst
}

// AppendNull, AppendBytes, AppendUtf8, AppendU64 and AppendList append a key to
// dst and return it, like the built-in append.
func AppendNull(dst []byte) []byte { return append(dst, tagNull) }

func AppendBytes(dst, b []byte) []byte { return appendLP(append(dst, tagBytes), b) }

func AppendUtf8[T ~string | ~[]byte](dst []byte, s T) []byte {
	return appendLP(append(dst, tagUtf8), s)
}

func AppendU64(dst []byte, n uint64) []byte { return appendFixed(dst, tagU64, n) }

// AppendList opens a list; exactly n keys must be appended next.
func AppendList(dst []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, tagList), uint32(n))
}

// NativeID is a native key that is one id of the agent's own.
func NativeID(namespace string, key Key) NativeKey {
	return append(appendLP([]byte{formNativeID}, namespace), key...)
}

// Composite is a native key of several parts that only together are unique.
func Composite(namespace string, parts ...Key) NativeKey {
	dst := AppendComposite(nil, namespace, len(parts))
	for _, part := range parts {
		dst = append(dst, part...)
	}
	return dst
}

// AppendComposite opens a composite; exactly n keys must be appended next.
func AppendComposite(dst []byte, namespace string, n int) []byte {
	return binary.BigEndian.AppendUint32(appendLP(append(dst, formComposite), namespace), uint32(n))
}

// Position is a native key for records without any id: where they stand. The
// scope is needed for RevisionScoped and refused (pass nil) otherwise.
func Position(kind string, stability Stability, key, scope Key) NativeKey {
	dst := append(appendLP([]byte{formPosition}, kind), byte(stability))
	return append(append(dst, key...), scope...)
}

// NativeAnchor anchors a source to the agent's own id of it.
func NativeAnchor(namespace string, key Key) Anchor { return Anchor(NativeID(namespace, key)) }

// LineageAnchor anchors a source to the route it was found in, for histories
// without an id of their own. There can be only one such source in a route.
func LineageAnchor(route Route) Anchor { return append(Anchor{anchorLineage}, route.Lineage...) }

func appendFixed(dst []byte, tag byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, tag), n)
}

func appendLP[T ~string | ~[]byte](dst []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(len(s))), s...)
}

var (
	errKeyCut      = errors.New("key ends early")
	errKeyTrailing = errors.New("bytes after the key")
	errKeyEmpty    = errors.New("no key")
)

// Validate reports the first rule that the key breaks.
func (k Key) Validate() error {
	rest, err := typedKey(k, 0)
	if err != nil {
		return err
	}
	if len(rest) != 0 {
		return errKeyTrailing
	}
	return nil
}

// Validate reports the first rule that the key breaks.
func (k NativeKey) Validate() error {
	if len(k) == 0 {
		return errKeyEmpty
	}
	label, rest, err := lengthPrefixed(k[1:])
	if err != nil {
		return err
	}
	if err := validLabel("namespace", string(label)); err != nil {
		return err
	}
	switch k[0] {
	case formNativeID:
		return Key(rest).Validate()
	case formComposite:
		return validItems(rest)
	case formPosition:
		return validPosition(rest)
	}
	return fmt.Errorf("native key starts with byte %#02x", k[0])
}

// Validate reports the first rule that the anchor breaks.
func (a Anchor) Validate() error {
	if len(a) == 0 {
		return errKeyEmpty
	}
	switch a[0] {
	case formNativeID:
		return NativeKey(a).Validate()
	case anchorLineage:
		if len(a) != 1+lineageBytes {
			return fmt.Errorf("lineage of %d bytes, want %d", len(a)-1, lineageBytes)
		}
		return nil
	}
	return fmt.Errorf("anchor starts with byte %#02x", a[0])
}

func validItems(rest []byte) error {
	n, rest, err := itemCount(rest)
	if err != nil {
		return err
	}
	for ; n > 0; n-- {
		if rest, err = typedKey(rest, 0); err != nil {
			return err
		}
	}
	if len(rest) != 0 {
		return errKeyTrailing
	}
	return nil
}

func validPosition(rest []byte) error {
	if len(rest) == 0 {
		return errKeyCut
	}
	stability := Stability(rest[0])
	if stability < AppendStable || stability > RevisionScoped {
		return fmt.Errorf("stability %d", stability)
	}
	rest, err := typedKey(rest[1:], 0)
	if err != nil {
		return err
	}
	if stability == RevisionScoped {
		return Key(rest).Validate()
	}
	if len(rest) != 0 {
		return errors.New("a scope needs stability RevisionScoped")
	}
	return nil
}

// typedKey checks the key at the start of b and returns what follows it.
func typedKey(b []byte, depth int) ([]byte, error) {
	rest, err := typedKeyBody(b, depth)
	if err != nil {
		return nil, err
	}
	if n := len(b) - len(rest); n > MaxTypedKey {
		return nil, fmt.Errorf("typed key of %d bytes, at most %d", n, MaxTypedKey)
	}
	return rest, nil
}

func typedKeyBody(b []byte, depth int) ([]byte, error) {
	if len(b) == 0 {
		return nil, errKeyCut
	}
	switch tag, rest := b[0], b[1:]; tag {
	case tagNull:
		return rest, nil
	case tagBytes:
		_, rest, err := lengthPrefixed(rest)
		return rest, err
	case tagUtf8:
		text, rest, err := lengthPrefixed(rest)
		switch {
		case err != nil:
			return nil, err
		case len(text) == 0:
			return nil, errors.New("empty utf8 key")
		case !utf8.Valid(text):
			return nil, errors.New("utf8 key is not UTF-8")
		}
		return rest, nil
	case tagI64, tagU64, tagF64:
		if len(rest) < 8 {
			return nil, errKeyCut
		}
		return rest[8:], nil
	case tagBool:
		if len(rest) == 0 {
			return nil, errKeyCut
		}
		if rest[0] > 1 {
			return nil, fmt.Errorf("bool key %d", rest[0])
		}
		return rest[1:], nil
	case tagList:
		return listItems(rest, depth)
	default:
		return nil, fmt.Errorf("typed key tag %#02x", tag)
	}
}

func listItems(b []byte, depth int) ([]byte, error) {
	if depth == MaxKeyDepth {
		return nil, fmt.Errorf("keys nested deeper than %d", MaxKeyDepth)
	}
	n, rest, err := itemCount(b)
	if err != nil {
		return nil, err
	}
	for ; n > 0; n-- {
		if rest, err = typedKeyBody(rest, depth+1); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

func itemCount(b []byte) (n uint32, rest []byte, err error) {
	if len(b) < 4 {
		return 0, nil, errKeyCut
	}
	n = binary.BigEndian.Uint32(b)
	if n > MaxComponents {
		return 0, nil, fmt.Errorf("%d items, at most %d", n, MaxComponents)
	}
	return n, b[4:], nil
}

func lengthPrefixed(b []byte) (value, rest []byte, err error) {
	if len(b) < 8 {
		return nil, nil, errKeyCut
	}
	n := binary.BigEndian.Uint64(b)
	if n > uint64(len(b)-8) {
		return nil, nil, errKeyCut
	}
	return b[8 : 8+n], b[8+n:], nil
}

func validLabel(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s is empty", what)
	case len(s) > MaxLabel:
		return fmt.Errorf("%s of %d bytes, at most %d", what, len(s), MaxLabel)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s is not UTF-8", what)
	}
	return nil
}
