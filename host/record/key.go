package record

import (
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

const (
	keyNative    byte = 1
	keyComposite byte = 2
	keyPosition  byte = 3

	anchorNative  byte = 1
	anchorLineage byte = 2

	stabilityMax         byte = 3
	stabilityRevisionKey byte = 3 // the only one with a scope
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
	rest, err := skipTypedKey(key, MaxTypedKey, 0)
	if err != nil {
		return err
	}
	return noRest(rest)
}

// ValidNativeKey checks a native key (or selector) of any of the three forms. The error is a *Rejection.
func ValidNativeKey(key []byte) error {
	if len(key) == 0 {
		return reject(RejectInvalidKey, "empty native key")
	}
	if len(key) > MaxNativeKey {
		return reject(RejectInvalidKey, "native key of %d bytes", len(key))
	}
	form := key[0]
	if form < keyNative || form > keyPosition {
		return reject(RejectInvalidKey, "unknown form %d of a native key", form)
	}
	_, rest, err := keyName(key[1:])
	if err != nil {
		return err
	}
	switch form {
	case keyNative:
		rest, err = skipTypedKey(rest, MaxTypedKey, 0)
	case keyComposite:
		rest, err = skipItems(rest, MaxTypedKey, 0)
	default:
		rest, err = skipPosition(rest)
	}
	if err != nil {
		return err
	}
	return noRest(rest)
}

// ValidAnchor checks the anchor of a source. The error is a *Rejection.
func ValidAnchor(anchor []byte) error {
	if len(anchor) == 0 {
		return reject(RejectInvalidKey, "empty anchor")
	}
	switch anchor[0] {
	case anchorLineage:
		if len(anchor) != 1+len(Digest{}) {
			return reject(RejectInvalidKey, "lineage anchor of %d bytes", len(anchor))
		}
		return nil
	case anchorNative:
		return ValidNativeKey(anchor)
	}
	return reject(RejectInvalidKey, "unknown form %d of an anchor", anchor[0])
}

func noRest(rest []byte) error {
	if len(rest) > 0 {
		return reject(RejectInvalidKey, "%d bytes behind a key", len(rest))
	}
	return nil
}

// lp reads LP(x) from src.
func lp(src []byte) (value, rest []byte, err error) {
	if len(src) < 8 {
		return nil, nil, reject(RejectInvalidKey, "cut length in a key")
	}
	n := binary.BigEndian.Uint64(src)
	if n > uint64(len(src)-8) {
		return nil, nil, reject(RejectInvalidKey, "length beyond the end of a key")
	}
	return src[8 : 8+n], src[8+n:], nil
}

func keyName(src []byte) (name, rest []byte, err error) {
	name, rest, err = lp(src)
	if err != nil {
		return nil, nil, err
	}
	if len(name) == 0 || len(name) > MaxName || !utf8.Valid(name) {
		return nil, nil, reject(RejectInvalidKey, "bad namespace of a key")
	}
	return name, rest, nil
}

func skipTypedKey(src []byte, limit, depth int) (rest []byte, err error) {
	if len(src) == 0 {
		return nil, reject(RejectInvalidKey, "a typed key is missing")
	}
	if depth > maxKeyDepth {
		return nil, reject(RejectInvalidKey, "lists nested too deeply in a typed key")
	}
	rest = src[1:]
	switch src[0] {
	case tkNull:
	case tkBytes, tkUTF8:
		var value []byte
		if value, rest, err = lp(rest); err != nil {
			return nil, err
		}
		if src[0] == tkUTF8 && (len(value) == 0 || !utf8.Valid(value)) {
			return nil, reject(RejectInvalidKey, "a text component is empty or not UTF-8")
		}
	case tkI64, tkU64, tkF64:
		if len(rest) < 8 {
			return nil, reject(RejectInvalidKey, "cut number in a typed key")
		}
		rest = rest[8:]
	case tkBool:
		if len(rest) == 0 || rest[0] > 1 {
			return nil, reject(RejectInvalidKey, "bad boolean in a typed key")
		}
		rest = rest[1:]
	case tkList:
		if rest, err = skipItems(rest, limit, depth+1); err != nil {
			return nil, err
		}
	default:
		return nil, reject(RejectInvalidKey, "unknown typed key %d", src[0])
	}
	if len(src)-len(rest) > limit {
		return nil, reject(RejectInvalidKey, "typed key over %d bytes", limit)
	}
	return rest, nil
}

// skipItems reads u32be n and n typed keys. The items are limited as a whole, so that a composite key also fits its list form.
func skipItems(src []byte, limit, depth int) (rest []byte, err error) {
	if len(src) < 4 {
		return nil, reject(RejectInvalidKey, "cut list in a key")
	}
	n := binary.BigEndian.Uint32(src)
	if n > MaxComponents {
		return nil, reject(RejectInvalidKey, "%d components of a key", n)
	}
	rest = src[4:]
	for range n {
		if rest, err = skipTypedKey(rest, limit, depth); err != nil {
			return nil, err
		}
	}
	if 1+len(src)-len(rest) > limit {
		return nil, reject(RejectInvalidKey, "components over %d bytes", limit)
	}
	return rest, nil
}

func skipPosition(src []byte) (rest []byte, err error) {
	if len(src) == 0 || src[0] == 0 || src[0] > stabilityMax {
		return nil, reject(RejectInvalidKey, "bad stability of a position")
	}
	rest, err = skipTypedKey(src[1:], MaxTypedKey, 0)
	if err != nil || src[0] != stabilityRevisionKey {
		return rest, err
	}
	return skipTypedKey(rest, MaxRevision, 0)
}

// AppendTypedUTF8 appends the typed key of a text. An empty text has no typed key: nothing is appended.
func AppendTypedUTF8(dst []byte, text string) []byte {
	if text == "" {
		return dst
	}
	return appendLP(append(dst, tkUTF8), text)
}

// AppendTypedU64 appends the typed key of a number.
func AppendTypedU64(dst []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, tkU64), n)
}

// AppendNativeID appends the native key of one typed key under a namespace.
func AppendNativeID(dst []byte, namespace string, typedKey []byte) []byte {
	return append(appendLP(append(dst, keyNative), namespace), typedKey...)
}

// AppendComposite appends the native key of several typed keys under a namespace.
func AppendComposite(dst []byte, namespace string, typedKeys ...[]byte) []byte {
	dst = appendLP(append(dst, keyComposite), namespace)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(typedKeys)))
	for _, key := range typedKeys {
		dst = append(dst, key...)
	}
	return dst
}

// AppendTypedKeyOf appends the typed key that a valid native key holds: the components of a composite as a list, of a position
// the position without its scope.
func AppendTypedKeyOf(dst, nativeKey []byte) []byte {
	_, rest, err := keyName(nativeKey[1:])
	if err != nil {
		return dst
	}
	switch nativeKey[0] {
	case keyComposite:
		return append(append(dst, tkList), rest...)
	case keyPosition:
		after, err := skipTypedKey(rest[1:], MaxTypedKey, 0)
		if err != nil {
			return dst
		}
		return append(dst, rest[1:len(rest)-len(after)]...)
	}
	return append(dst, rest...)
}

// WithLineage returns the anchor of the same source under a named root: the typed key becomes the list of the lineage and the
// key; an anchor that is a lineage is replaced by the other one.
func WithLineage(anchor []byte, lineage Digest) []byte {
	if len(anchor) == 0 || anchor[0] == anchorLineage {
		return append([]byte{anchorLineage}, lineage[:]...)
	}
	name, key, err := keyName(anchor[1:])
	if err != nil {
		return anchor
	}
	out := make([]byte, 0, len(anchor)+64)
	out = appendLP(append(out, anchorNative), name)
	out = binary.BigEndian.AppendUint32(append(out, tkList), 2)
	out = appendLP(append(out, tkBytes), lineage[:])
	return append(out, key...)
}

// AppendTypedKeyJSON appends the JSON form of a valid typed key: "Null", {"Utf8":"a"}, {"Bytes":[1,2]}, {"I64":-1}, {"U64":1},
// {"F64Bits":1}, {"Bool":true}, {"Composite":[...]}.
func AppendTypedKeyJSON(dst, typedKey []byte) []byte {
	dst, _ = appendTypedKeyJSON(dst, typedKey)
	return dst
}

func appendTypedKeyJSON(dst, key []byte) (out, rest []byte) {
	if len(key) == 0 {
		return append(dst, "null"...), nil
	}
	rest = key[1:]
	switch key[0] {
	case tkBytes, tkUTF8:
		value, after, err := lp(rest)
		if err != nil {
			return append(dst, "null"...), nil
		}
		if key[0] == tkUTF8 {
			dst = canonical.AppendString(append(dst, `{"Utf8":`...), value)
			return append(dst, '}'), after
		}
		return appendBytesJSON(dst, value), after
	case tkI64, tkU64, tkF64:
		if len(rest) < 8 {
			return append(dst, "null"...), nil
		}
		n := binary.BigEndian.Uint64(rest)
		switch key[0] {
		case tkI64:
			dst = strconv.AppendInt(append(dst, `{"I64":`...), int64(n), 10)
		case tkU64:
			dst = strconv.AppendUint(append(dst, `{"U64":`...), n, 10)
		default:
			dst = strconv.AppendUint(append(dst, `{"F64Bits":`...), n, 10)
		}
		return append(dst, '}'), rest[8:]
	case tkBool:
		if len(rest) == 0 {
			return append(dst, "null"...), nil
		}
		dst = strconv.AppendBool(append(dst, `{"Bool":`...), rest[0] == 1)
		return append(dst, '}'), rest[1:]
	case tkList:
		return appendListJSON(dst, rest)
	}
	return append(dst, `"Null"`...), rest
}

func appendBytesJSON(dst, value []byte) []byte {
	dst = append(dst, `{"Bytes":[`...)
	for i, b := range value {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(b), 10)
	}
	return append(dst, "]}"...)
}

func appendListJSON(dst, rest []byte) (out, after []byte) {
	if len(rest) < 4 {
		return append(dst, "null"...), nil
	}
	n := binary.BigEndian.Uint32(rest)
	rest = rest[4:]
	dst = append(dst, `{"Composite":[`...)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, rest = appendTypedKeyJSON(dst, rest); rest == nil {
			break
		}
	}
	return append(dst, "]}"...), rest
}

// TypedText returns the text of a typed key of UTF-8; ok is false for every other key.
func TypedText(typedKey []byte) (text []byte, ok bool) {
	if len(typedKey) == 0 || typedKey[0] != tkUTF8 {
		return nil, false
	}
	text, rest, err := lp(typedKey[1:])
	return text, err == nil && len(rest) == 0
}

// CustomIdentity returns what the native id of an event of provider custom says of its origin: the components of
// [provider key, source id, native id]. ok is false for an id of another shape.
func CustomIdentity(nativeID []byte) (providerKey, sourceID []byte, ok bool) {
	if len(nativeID) < 5 || nativeID[0] != tkList || binary.BigEndian.Uint32(nativeID[1:]) != 3 {
		return nil, nil, false
	}
	var texts [2][]byte
	rest := nativeID[5:]
	for i := range texts {
		if len(rest) == 0 || rest[0] != tkUTF8 {
			return nil, nil, false
		}
		var err error
		if texts[i], rest, err = lp(rest[1:]); err != nil {
			return nil, nil, false
		}
	}
	return texts[0], texts[1], true
}

// appendAnchorJSON appends {"CatalogLineage":"<64 hex>"} or {"ProviderNative":{"key":...,"namespace":...}}.
func appendAnchorJSON(dst, anchor []byte) []byte {
	if len(anchor) == 1+len(Digest{}) && anchor[0] == anchorLineage {
		dst = append(dst, `{"CatalogLineage":"`...)
		dst = hex.AppendEncode(dst, anchor[1:])
		return append(dst, `"}`...)
	}
	if len(anchor) == 0 {
		return append(dst, "null"...)
	}
	namespace, key, err := keyName(anchor[1:])
	if err != nil {
		return append(dst, "null"...)
	}
	dst = AppendTypedKeyJSON(append(dst, `{"ProviderNative":{"key":`...), key)
	dst = canonical.AppendString(append(dst, `,"namespace":`...), namespace)
	return append(dst, "}}"...)
}
