package record

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

func nest(depth int) []byte {
	key := null()
	for range depth {
		key = keyList(key)
	}
	return key
}

func TestTypedKeys(t *testing.T) {
	tests := map[string]struct {
		key  []byte
		json string
	}{
		"null":         {null(), `"Null"`},
		"bytes":        {appendLP([]byte{tkBytes}, "\x00\xff"), `{"Bytes":[0,255]}`},
		"no bytes":     {appendLP([]byte{tkBytes}, ""), `{"Bytes":[]}`},
		"text":         {text("é\n"), `{"Utf8":"é\n"}`},
		"negative":     {[]byte{tkI64, 255, 255, 255, 255, 255, 255, 255, 254}, `{"I64":-2}`},
		"large":        {AppendTypedU64(nil, 1<<64-1), `{"U64":18446744073709551615}`},
		"float":        {[]byte{tkF64, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0}, `{"F64Bits":4607182418800017408}`},
		"true":         {[]byte{tkBool, 1}, `{"Bool":true}`},
		"empty list":   {keyList(), `{"Composite":[]}`},
		"list of list": {keyList(text("a"), keyList(null(), AppendTypedU64(nil, 0))), `{"Composite":[{"Utf8":"a"},{"Composite":["Null",{"U64":0}]}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := ValidTypedKey(test.key); err != nil {
				t.Fatal(err)
			}
			if got := string(AppendTypedKeyJSON(nil, test.key)); got != test.json || !canonical.IsCanonical([]byte(got)) {
				t.Errorf("got %s, want %s", got, test.json)
			}
		})
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	typed := map[string][]byte{
		"nothing":                nil,
		"unknown kind":           {8},
		"two keys":               {tkNull, tkNull},
		"empty text":             appendLP([]byte{tkUTF8}, ""),
		"text not UTF-8":         appendLP([]byte{tkUTF8}, "\xff"),
		"cut text":               text("abc")[:11],
		"length over the end":    append([]byte{tkBytes}, bytes.Repeat([]byte{0xff}, 8)...),
		"cut number":             {tkU64, 0, 0},
		"boolean of two":         {tkBool, 2},
		"no boolean":             {tkBool},
		"cut list":               {tkList, 0, 0},
		"list with too few":      {tkList, 0, 0, 0, 2, tkNull},
		"257 items":              keyList(bytes.Split(bytes.Repeat([]byte{tkNull}, 257), nil)...),
		"64 KiB and the framing": text(strings.Repeat("x", MaxTypedKey-8)),
		"too deep":               nest(maxKeyDepth + 1),
	}
	for name, key := range typed {
		if err := ValidTypedKey(key); err == nil {
			t.Errorf("%s: accepted as a typed key", name)
		}
		if err := ValidNativeKey(AppendNativeID(nil, "ns", key)); err == nil {
			t.Errorf("%s: accepted in a native key", name)
		}
	}
	position := appendLP([]byte{keyPosition}, "kind")
	natives := map[string][]byte{
		"nothing":                    nil,
		"form 0":                     AppendNativeID(nil, "ns", null())[1:],
		"form 4":                     append([]byte{4}, AppendNativeID(nil, "ns", null())[1:]...),
		"empty namespace":            AppendNativeID(nil, "", null()),
		"long namespace":             AppendNativeID(nil, strings.Repeat("n", MaxName+1), null()),
		"namespace not UTF-8":        AppendNativeID(nil, "\xff", null()),
		"byte behind the end":        append(AppendNativeID(nil, "ns", null()), 0),
		"composite with too few":     AppendComposite(nil, "ns", text("a"))[:20],
		"composite over 64 KiB":      AppendComposite(nil, "ns", text(strings.Repeat("x", 40<<10)), text(strings.Repeat("y", 40<<10))),
		"composite of 257":           AppendComposite(nil, "ns", bytes.Split(bytes.Repeat([]byte{tkNull}, 257), nil)...),
		"position without stability": append(bytes.Clone(position), 0, tkNull),
		"position of stability 4":    append(bytes.Clone(position), 4, tkNull),
		"revision without a scope":   append(bytes.Clone(position), 3, tkNull),
		"append-stable with a scope": append(bytes.Clone(position), 1, tkNull, tkNull),
		"scope over its limit":       append(append(bytes.Clone(position), 3, tkNull), text(strings.Repeat("r", MaxRevision))...),
	}
	for name, key := range natives {
		if err := ValidNativeKey(key); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	anchors := map[string][]byte{
		"nothing": nil, "short lineage": {anchorLineage, 1}, "long lineage": append([]byte{anchorLineage}, make([]byte, 33)...), "position": append(bytes.Clone(position), 1, tkNull),
	}
	for name, anchor := range anchors {
		if err := ValidAnchor(anchor); err == nil {
			t.Errorf("anchor: %s accepted", name)
		}
	}
}

func TestLargestKeysAreAccepted(t *testing.T) {
	position := appendLP([]byte{keyPosition}, "kind")
	for name, key := range map[string][]byte{
		"64 KiB":          AppendNativeID(nil, strings.Repeat("n", MaxName), text(strings.Repeat("x", MaxTypedKey-9))),
		"256 components":  AppendComposite(nil, "ns", bytes.Split(bytes.Repeat([]byte{tkNull}, 256), nil)...),
		"deepest":         AppendNativeID(nil, "ns", nest(maxKeyDepth)),
		"revision scoped": append(append(bytes.Clone(position), 3, tkNull), text("r")...),
		"largest scope":   append(append(bytes.Clone(position), 3, tkNull), text(strings.Repeat("r", MaxRevision-9))...),
	} {
		if err := ValidNativeKey(key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := ValidTypedKey(AppendTypedKeyOf(nil, key)); err != nil {
			t.Errorf("typed key of %s: %v", name, err)
		}
	}
	for _, anchor := range [][]byte{AppendNativeID(nil, "ns", text("a")), AppendNativeID(nil, "", []byte{tkNull}), WithLineage(nil, Digest{1})} {
		if got := WithoutLineage(WithLineage(anchor, Digest{1}), Digest{1}); !bytes.Equal(got, anchor) {
			t.Errorf("%x without its lineage is %x", anchor, got)
		}
		if got := WithoutLineage(anchor, Digest{1}); !bytes.Equal(got, anchor) {
			t.Errorf("%x that has no lineage became %x", anchor, got)
		}
	}
	if err := ValidAnchor(WithLineage(nil, Digest{1})); err != nil {
		t.Errorf("lineage anchor: %v", err)
	}
}

func TestTypedKeyOf(t *testing.T) {
	position := append(append(appendLP([]byte{keyPosition}, "kind"), 3), AppendTypedU64(nil, 4)...)
	position = append(position, text("rev")...)
	for name, test := range map[string]struct{ key, want []byte }{
		"native":    {AppendNativeID(nil, "ns", text("a")), text("a")},
		"composite": {AppendComposite(nil, "ns", text("a"), null()), keyList(text("a"), null())},
		"position":  {position, AppendTypedU64(nil, 4)},
	} {
		if got := AppendTypedKeyOf(nil, test.key); !bytes.Equal(got, test.want) {
			t.Errorf("%s: %x", name, got)
		}
	}
}

func TestCustomIdentity(t *testing.T) {
	key, source, ok := CustomIdentity(keyList(text("acme"), text("s1"), AppendTypedU64(nil, 1)))
	if !ok || string(key) != "acme" || string(source) != "s1" {
		t.Errorf("got %q %q %v", key, source, ok)
	}
	for _, other := range [][]byte{nil, text("acme"), keyList(text("a"), text("b")), keyList(text("a"), null(), null()), keyList(null(), null(), null())} {
		if _, _, ok := CustomIdentity(other); ok {
			t.Errorf("%x accepted", other)
		}
	}
}

func FuzzNativeKey(f *testing.F) {
	f.Add(AppendNativeID(nil, "ns", keyList(text("a"), null(), AppendTypedU64(nil, 1))))
	f.Add(AppendComposite(nil, "ns", text("a"), []byte{tkBool, 1}))
	f.Add(append(append(appendLP([]byte{keyPosition}, "kind"), 3, tkNull), text("r")...))
	f.Fuzz(func(t *testing.T, key []byte) {
		if ValidNativeKey(key) != nil {
			return
		}
		typed := AppendTypedKeyOf(nil, key)
		if err := ValidTypedKey(typed); err != nil {
			t.Fatalf("typed key of a valid key: %v", err)
		}
		if js := AppendTypedKeyJSON(nil, typed); !canonical.IsCanonical(js) {
			t.Fatalf("no canonical JSON: %s", js)
		}
		if key[0] == keyNative {
			if err := ValidAnchor(WithLineage(key, Digest{1})); err != nil && len(key) < MaxTypedKey-100 {
				// A key at the depth limit has no room for the list of the lineage.
				if !strings.Contains(err.Error(), "deeply") {
					t.Fatalf("anchor with a lineage: %v", err)
				}
			}
		}
	})
}
