package sdkplugin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Key is one typed key in its encoded form: a tag byte, then the value. Build it with Utf8, U64 and the like, or without
// allocation with AppendUtf8 and the like. Two keys are the same key exactly when their bytes are equal, so Utf8("1") and U64(1)
// are different keys.
type Key []byte

// NativeKey is the encoded native key of a session or event: NativeID, Composite or Position. The host hashes it into the public
// id, so it must be made of things that never change: native ids, occurrence numbers, content digests; never of paths, times of
// files or offsets.
type NativeKey []byte

// Anchor identifies a source wherever its file lies: NativeAnchor when the agent gives its histories an id of their own, else
// LineageAnchor.
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

// Utf8 is a key of text: native ids go here verbatim, never trimmed or folded. The text must not be empty (use Null).
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

// AppendNull, AppendBytes, AppendUtf8, AppendU64 and AppendList append a key to dst and return it, like the built-in append.
func AppendNull(dst []byte) []byte { return append(dst, tagNull) }

func AppendBytes(dst, b []byte) []byte { return appendLP(append(dst, tagBytes), b) }

func AppendUtf8[T ~string | ~[]byte](dst []byte, s T) []byte {
	return appendLP(append(dst, tagUtf8), s)
}

// AppendOptional appends text, or Null for none.
func AppendOptional(dst []byte, s string) []byte {
	if s == "" {
		return AppendNull(dst)
	}
	return AppendUtf8(dst, s)
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

// Position is a native key for records without any id: where they stand. The scope is needed for RevisionScoped and refused (pass
// nil) otherwise.
func Position(kind string, stability Stability, key, scope Key) NativeKey {
	dst := append(appendLP([]byte{formPosition}, kind), byte(stability))
	return append(append(dst, key...), scope...)
}

// NativeAnchor anchors a source to the agent's own id of it.
func NativeAnchor(namespace string, key Key) Anchor { return Anchor(NativeID(namespace, key)) }

// LineageAnchor anchors a source to the route it was found in, for histories without an id of their own. There can be only one
// such source in a route.
func LineageAnchor(route Route) Anchor { return append(Anchor{anchorLineage}, route.Lineage...) }

func appendFixed(dst []byte, tag byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, tag), n)
}

func appendLP[T ~string | ~[]byte](dst []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(len(s))), s...)
}

// Validate reports the first rule that the key breaks.
func (k Key) Validate() error {
	r := keyReader{rest: k}
	r.typed()
	return r.end()
}

// Validate reports the first rule that the key breaks.
func (k NativeKey) Validate() error {
	r := keyReader{rest: k}
	form := r.next(1)
	namespace := r.prefixed()
	if r.err == nil {
		r.err = validLabel("namespace", string(namespace))
	}
	if r.err != nil {
		return r.err
	}
	switch form[0] {
	case formNativeID:
		r.typed()
	case formComposite:
		for range r.count() {
			r.typed()
		}
	case formPosition:
		stability := r.next(1)
		r.typed()
		switch {
		case r.err != nil:
		case stability[0] == byte(RevisionScoped):
			r.typed()
		case stability[0] < byte(AppendStable) || stability[0] > byte(RevisionScoped):
			r.fail("stability %d", stability[0])
		case len(r.rest) > 0:
			r.fail("a scope needs stability RevisionScoped")
		}
	default:
		r.fail("native key starts with byte %#02x", form[0])
	}
	return r.end()
}

// Validate reports the first rule that the anchor breaks.
func (a Anchor) Validate() error {
	switch {
	case len(a) == 0:
		return errKeyCut
	case a[0] == formNativeID:
		return NativeKey(a).Validate()
	case a[0] == anchorLineage && len(a) != 1+lineageBytes:
		return fmt.Errorf("lineage of %d bytes, want %d", len(a)-1, lineageBytes)
	case a[0] != anchorLineage:
		return fmt.Errorf("anchor starts with byte %#02x", a[0])
	}
	return nil
}

// Native reads back the texts that NativeAnchor was given: one, or those of a list, where "" is a Null. Any other anchor is one
// that another provider made, a failure of class Internal; the texts are empty then.
func (a Anchor) Native(namespace string, texts int) ([]string, error) {
	out, head := make([]string, texts), NativeAnchor(namespace, nil)
	if texts != 1 {
		head = append(head, AppendList(nil, texts)...)
	}
	rest, ours := bytes.CutPrefix(a, head)
	r := keyReader{rest: rest}
	for i := range out {
		if tag := r.next(1); tag != nil && tag[0] == tagUtf8 {
			out[i] = string(r.prefixed())
		} else if tag == nil || tag[0] != tagNull {
			ours = false
		}
	}
	if !ours || r.end() != nil || a.Validate() != nil {
		return make([]string, texts), Fail(Internal, "the anchor is none of this provider")
	}
	return out, nil
}

var errKeyCut = errors.New("key ends early")

// keyReader checks an encoded key from its start; after an error it reads no more.
type keyReader struct {
	rest  []byte
	depth int // of nested lists
	err   error
}

func (r *keyReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *keyReader) end() error {
	if len(r.rest) > 0 {
		r.fail("bytes after the key")
	}
	return r.err
}

// next takes n bytes, or nil after an error.
func (r *keyReader) next(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.rest)) {
		r.err = errKeyCut
	}
	if r.err != nil {
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *keyReader) prefixed() []byte {
	n := r.next(8)
	if n == nil {
		return nil
	}
	return r.next(binary.BigEndian.Uint64(n))
}

// count takes the number of items, 0 after an error.
func (r *keyReader) count() uint32 {
	b := r.next(4)
	if b == nil {
		return 0
	}
	n := binary.BigEndian.Uint32(b)
	if n > MaxComponents {
		r.fail("%d items, at most %d", n, MaxComponents)
		return 0
	}
	return n
}

// typed takes one typed key.
func (r *keyReader) typed() {
	before := len(r.rest)
	tag := r.next(1)
	if tag == nil {
		return
	}
	switch tag[0] {
	case tagNull:
	case tagBytes:
		r.prefixed()
	case tagUtf8:
		if text := r.prefixed(); len(text) == 0 || !utf8.Valid(text) {
			r.fail("utf8 key is empty or not UTF-8")
		}
	case tagI64, tagU64, tagF64:
		r.next(8)
	case tagBool:
		if b := r.next(1); b != nil && b[0] > 1 {
			r.fail("bool key %d", b[0])
		}
	case tagList:
		if r.depth++; r.depth > MaxKeyDepth {
			r.fail("keys nested deeper than %d", MaxKeyDepth)
		}
		for range r.count() {
			r.typed()
		}
		r.depth--
	default:
		r.fail("typed key tag %#02x", tag[0])
	}
	if n := before - len(r.rest); n > MaxTypedKey {
		r.fail("typed key of %d bytes, at most %d", n, MaxTypedKey)
	}
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
