package record

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"unicode/utf8"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// Binary forms. LP(x) is u64be length, then x.
//
//	typed key   0 null | 1 LP(bytes) | 2 LP(utf8, not empty) | 3 i64be | 4 u64be | 5 f64 bits be | 6 bool byte | 7 u32be n, n typed keys
//	native key  1 LP(namespace) typed key | 2 LP(namespace) u32be n, n typed keys | 3 LP(kind) stability typed key [scope typed key]
//	anchor      1 LP(namespace) typed key | 2 and 32 bytes of lineage
const (
	tkNull byte = iota
	tkBytes
	tkUTF8
	tkI64
	tkU64
	tkF64
	tkBool
	tkList
)

// tkNames begin the JSON forms of typed keys.
var tkNames = [...]string{`"Null"`, `{"Bytes":`, `{"Utf8":`, `{"I64":`, `{"U64":`, `{"F64Bits":`, `{"Bool":`, `{"Composite":`}

const (
	keyNative    byte = 1
	keyComposite byte = 2
	keyPosition  byte = 3

	anchorNative  byte = 1
	anchorLineage byte = 2

	stabilityRevisionKey = 3 // the largest, and the only one with a scope
)

// Limits of keys and of the names around them, in bytes unless said otherwise.
const (
	MaxProvider   = 128
	MaxName       = 256      // source format, schema variant, namespaces, kinds
	MaxTypedKey   = 64 << 10 // encoded
	MaxComponents = 256      // items of a composite key or of one list
	MaxRevision   = 4 << 10  // parser revisions and revision scopes
	maxKeyDepth   = 32       // nesting of lists; a bound for recursion, far above any real key
	MaxNativeKey  = MaxTypedKey + MaxRevision + MaxName + 32
)

// ValidTypedKey checks that key is exactly one typed key within the limits. The error is a *Rejection.
func ValidTypedKey(key []byte) error {
	w := keyWalker{rest: key}
	w.typedKey(MaxTypedKey, 0)
	return w.end()
}

// ValidNativeKey checks a native key (or selector) of any of the three forms. The error is a *Rejection.
func ValidNativeKey(key []byte) error {
	if len(key) == 0 || len(key) > MaxNativeKey {
		return reject(RejectInvalidKey, "native key of %d bytes", len(key))
	}
	w := keyWalker{rest: key[1:]}
	w.name()
	switch key[0] {
	case keyNative:
		w.typedKey(MaxTypedKey, 0)
	case keyComposite:
		w.items(MaxTypedKey, 1) // as deep as its list form
	case keyPosition:
		stability := w.number(1)
		if stability == 0 || stability > stabilityRevisionKey {
			w.fail("bad stability of a position")
		}
		if w.typedKey(MaxTypedKey, 0); stability == stabilityRevisionKey {
			w.typedKey(MaxRevision, 0)
		}
	default:
		w.fail("unknown form of a native key")
	}
	return w.end()
}

// ValidAnchor checks the anchor of a source. The error is a *Rejection.
func ValidAnchor(anchor []byte) error {
	switch {
	case len(anchor) == 1+len(Digest{}) && anchor[0] == anchorLineage:
		return nil
	case len(anchor) > 0 && anchor[0] == anchorNative:
		return ValidNativeKey(anchor)
	}
	return reject(RejectInvalidKey, "unknown form of an anchor")
}

// keyWalker reads a key and, if asked, writes its JSON form. The first violation is kept.
type keyWalker struct {
	rest []byte
	json bool
	out  []byte
	err  *Rejection
}

func (w *keyWalker) fail(what string) {
	if w.err == nil {
		w.err = reject(RejectInvalidKey, "%s", what)
	}
	w.rest = nil
}

func (w *keyWalker) end() error {
	if len(w.rest) > 0 {
		w.fail("bytes behind a key")
	}
	if w.err != nil {
		return w.err
	}
	return nil
}

// take reads n bytes.
func (w *keyWalker) take(n uint64) []byte {
	if n > uint64(len(w.rest)) {
		w.fail("a key is cut")
		return nil
	}
	b := w.rest[:n]
	w.rest = w.rest[n:]
	return b
}

// number reads a big-endian number of a width of 1, 4 or 8 bytes, zero when it is cut.
func (w *keyWalker) number(width uint64) uint64 {
	var wide [8]byte
	copy(wide[8-width:], w.take(width))
	return binary.BigEndian.Uint64(wide[:])
}

// lp reads LP(x).
func (w *keyWalker) lp() []byte { return w.take(w.number(8)) }

func (w *keyWalker) name() []byte {
	name := w.lp()
	if len(name) == 0 || len(name) > MaxName || !utf8.Valid(name) {
		w.fail("bad namespace of a key")
	}
	return name
}

func (w *keyWalker) typedKey(limit, depth int) {
	before := len(w.rest)
	tag := byte(w.number(1))
	if tag >= byte(len(tkNames)) || depth > maxKeyDepth {
		w.fail("unknown or too deeply nested typed key")
	}
	if w.err != nil {
		return
	}
	w.write(tkNames[tag])
	switch tag {
	case tkNull:
		return
	case tkBytes:
		value := w.lp()
		w.write("[")
		for i := 0; w.json && i < len(value); i++ {
			w.separate(i)
			w.writeUint(uint64(value[i]))
		}
		w.write("]")
	case tkUTF8:
		value := w.lp()
		if len(value) == 0 || !utf8.Valid(value) {
			w.fail("a text component is empty or not UTF-8")
		}
		if w.json {
			w.out = canonical.AppendString(w.out, value)
		}
	case tkI64:
		if n := int64(w.number(8)); w.json {
			w.out = strconv.AppendInt(w.out, n, 10)
		}
	case tkU64, tkF64:
		w.writeUint(w.number(8))
	case tkBool:
		n := w.number(1)
		if n > 1 {
			w.fail("bad boolean in a typed key")
		}
		w.write(strconv.FormatBool(n == 1))
	case tkList:
		w.items(limit, depth+1)
	}
	w.write("}")
	if before-len(w.rest) > limit {
		w.fail("typed key over its limit")
	}
}

// items reads u32be n and n typed keys. The items are limited as a whole, so that a composite key also fits its list form.
func (w *keyWalker) items(limit, depth int) {
	before := len(w.rest)
	n := w.number(4)
	if n > MaxComponents {
		w.fail("too many components of a key")
	}
	w.write("[")
	for i := 0; i < int(n) && w.err == nil; i++ {
		w.separate(i)
		w.typedKey(limit, depth)
	}
	w.write("]")
	if 1+before-len(w.rest) > limit {
		w.fail("components over their limit")
	}
}

func (w *keyWalker) write(text string) {
	if w.json {
		w.out = append(w.out, text...)
	}
}

func (w *keyWalker) separate(i int) {
	if i > 0 {
		w.write(",")
	}
}

func (w *keyWalker) writeUint(n uint64) {
	if w.json {
		w.out = strconv.AppendUint(w.out, n, 10)
	}
}

// AppendTypedKeyOf appends the typed key that a valid native key holds: the components of a composite as a list, of a position
// the position without its scope.
func AppendTypedKeyOf(dst, nativeKey []byte) []byte {
	w := keyWalker{rest: nativeKey[1:]}
	w.name()
	switch {
	case w.err != nil:
		return dst
	case nativeKey[0] == keyComposite:
		dst = append(dst, tkList)
	case nativeKey[0] == keyPosition:
		w.take(1)
		key := w.rest
		w.typedKey(MaxTypedKey, 0)
		return append(dst, key[:len(key)-len(w.rest)]...)
	}
	return append(dst, w.rest...)
}

// WithLineage returns the anchor of the same source under a named root: the typed key becomes the list of the lineage and the
// key; an anchor that is a lineage is replaced by the other one.
func WithLineage(anchor []byte, lineage Digest) []byte {
	if len(anchor) == 0 || anchor[0] == anchorLineage {
		return append([]byte{anchorLineage}, lineage[:]...)
	}
	w := keyWalker{rest: anchor[1:]}
	name := w.name()
	if w.err != nil {
		return anchor
	}
	out := make([]byte, 0, len(anchor)+64)
	out = appendLP(append(out, anchorNative), name)
	out = binary.BigEndian.AppendUint32(append(out, tkList), 2)
	out = appendLP(append(out, tkBytes), lineage[:])
	return append(out, w.rest...)
}

// WithoutLineage undoes WithLineage. An anchor that it did not make is returned as it is.
func WithoutLineage(anchor []byte, lineage Digest) []byte {
	if len(anchor) == 0 || anchor[0] != anchorNative {
		return anchor
	}
	w := keyWalker{rest: anchor[1:]}
	name := w.name()
	head := binary.BigEndian.AppendUint32([]byte{tkList}, 2)
	rest, ok := bytes.CutPrefix(w.rest, appendLP(append(head, tkBytes), lineage[:]))
	if w.err != nil || !ok {
		return anchor
	}
	return append(appendLP([]byte{anchorNative}, name), rest...)
}

// AppendTypedKeyJSON appends the JSON form of a typed key: "Null", {"Utf8":"a"}, {"Bytes":[1,2]}, {"I64":-1}, {"U64":1},
// {"F64Bits":1}, {"Bool":true}, {"Composite":[...]}; null for one that is not valid.
func AppendTypedKeyJSON(dst, typedKey []byte) []byte {
	w := keyWalker{rest: typedKey, json: true, out: dst}
	if w.typedKey(MaxTypedKey, 0); w.err != nil {
		return append(dst, "null"...)
	}
	return w.out
}

// CustomIdentity returns what the native id of an event of provider custom says of its origin: the components of
// [provider key, source id, native id]. ok is false for an id of another shape.
func CustomIdentity(nativeID []byte) (providerKey, sourceID []byte, ok bool) {
	id, isTriple := bytes.CutPrefix(nativeID, []byte{tkList, 0, 0, 0, 3})
	w := keyWalker{rest: id}
	text := func() []byte {
		if w.number(1) != uint64(tkUTF8) {
			w.fail("no text")
		}
		return w.lp()
	}
	providerKey, sourceID = text(), text()
	if !isTriple || w.err != nil {
		return nil, nil, false
	}
	return providerKey, sourceID, true
}

// appendAnchorJSON appends {"CatalogLineage":"<64 hex>"} or {"ProviderNative":{"key":...,"namespace":...}}.
func appendAnchorJSON(dst, anchor []byte) []byte {
	if len(anchor) == 1+len(Digest{}) && anchor[0] == anchorLineage {
		dst = hex.AppendEncode(append(dst, `{"CatalogLineage":"`...), anchor[1:])
		return append(dst, `"}`...)
	}
	if len(anchor) == 0 {
		return append(dst, "null"...)
	}
	w := keyWalker{rest: anchor[1:]}
	namespace := w.name()
	if w.err != nil {
		return append(dst, "null"...)
	}
	dst = AppendTypedKeyJSON(append(dst, `{"ProviderNative":{"key":`...), w.rest)
	dst = canonical.AppendString(append(dst, `,"namespace":`...), namespace)
	return append(dst, "}}"...)
}
