package sdkplugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// digest is the framing of ctx identities, which the host applies to keys.
func digest(kind byte, fields ...[]byte) []byte {
	h := sha256.New()
	h.Write([]byte("ctx.identity\x00\x00\x01"))
	h.Write([]byte{kind})
	h.Write(binary.BigEndian.AppendUint16(nil, uint16(len(fields))))
	for i, f := range fields {
		h.Write(binary.BigEndian.AppendUint16(nil, uint16(i+1)))
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		h.Write(f)
	}
	return h.Sum(nil)
}

func uuid(d []byte) string {
	b := bytes.Clone(d[:16])
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// The public ids of known sessions and events come from these bytes.
func TestKeysGiveTheKnownIdentities(t *testing.T) {
	agent := func(root, run, agent Key) Key { return List(root, run, agent) }
	golden := Utf8("provider-native-identity-golden")
	cases := []struct {
		provider, anchorNS, kind, sessionNS string
		key                                 Key
		source, session                     string
	}{
		{"codex", "codex.session", "codex-session", "codex.session", Utf8("01900000-0000-7000-8000-000000000001"),
			"0b03403c-ae54-8cc9-bbaa-c0084c89c0af", "5e9f0460-5311-83b3-b803-8c23887fddcc"},
		{"claude", "claude.session-leaf", "claude-session", "claude.session",
			agent(Utf8("claude-root"), Utf8("claude-workflow"), Utf8("claude-agent")),
			"4c29621c-26f8-8848-87b6-61c7d67bdbf5", "a66bd1e0-2491-8189-a158-e7d05c8149c6"},
		{"claude", "claude.session-leaf", "claude-session", "claude.session",
			agent(Utf8("11111111-2222-4333-8444-555555555555"), Null(), Null()),
			"a109c728-96b2-872c-bd60-777c877f6dfd", "9074deb2-0f79-8e34-85a3-710c1eedb598"},
		{"cursor", "cursor.session", "cursor-session", "cursor.session", golden,
			"992b3fb9-7785-8c1f-bad4-ec397f03f13e", "c041f64d-87e9-86ef-9057-6f3dd4cb0504"},
	}
	for _, c := range cases {
		anchor := NativeAnchor(c.anchorNS, c.key)
		source := digest(1, []byte(c.provider), anchor)
		session := digest(2, source, []byte(c.kind), NativeID(c.sessionNS, c.key))
		if uuid(source) != c.source || uuid(session) != c.session {
			t.Errorf("%s: source %s, session %s", c.provider, uuid(source), uuid(session))
		}
		if err := anchor.Validate(); err != nil {
			t.Error(err)
		}
	}
	thread := Utf8("01900000-0000-7000-8000-000000000001")
	source := digest(1, []byte("codex"), NativeAnchor("codex.session", thread))
	session := digest(2, source, []byte("codex-session"), NativeID("codex.session", thread))
	key := Composite("codex.event.v1", Utf8("provider-native-v1"), Utf8("call_id"), Utf8("c1"), Utf8("tool_call"), Utf8("assistant"), U64(0))
	if id := uuid(digest(3, source, session, []byte("codex-event"), key)); id != "5809a91d-b97a-8235-bb06-db32045a9e20" {
		t.Errorf("event %s", id)
	}
	lineage := bytes.Repeat([]byte{7}, 32)
	position := Position("codex.prompt-history.raw-ordinal", AppendStable, U64(0), nil)
	for _, v := range []interface{ Validate() error }{key, position, LineageAnchor(Route{Lineage: lineage})} {
		if err := v.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestKeyEncoding(t *testing.T) {
	cases := []struct {
		key  Key
		want string
	}{
		{Null(), "00"},
		{Bytes([]byte{0xfe}), "010000000000000001fe"},
		{Utf8("a"), "02000000000000000161"},
		{I64(-2), "03fffffffffffffffe"},
		{U64(258), "040000000000000102"},
		{F64(1), "053ff0000000000000"},
		{Bool(true), "0601"},
		{Bool(false), "0600"},
		{List(Null(), Bool(true)), "0700000002000601"},
		{List(), "0700000000"},
	}
	for _, c := range cases {
		if got := hex.EncodeToString(c.key); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		if err := c.key.Validate(); err != nil {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	built := AppendUtf8(AppendU64(AppendBytes(AppendNull(AppendComposite(nil, "n", 4)), []byte("b")), 1), []byte("u"))
	if want := Composite("n", Null(), Bytes([]byte("b")), U64(1), Utf8("u")); !bytes.Equal(built, want) {
		t.Errorf("appended %x, want %x", built, want)
	}
}

func TestBadKeys(t *testing.T) {
	deep := Null()
	for range MaxKeyDepth + 1 {
		deep = List(deep)
	}
	many := make([]Key, MaxComponents+1)
	for i := range many {
		many[i] = Null()
	}
	cases := map[string]interface{ Validate() error }{
		"empty key":          Key{},
		"unknown tag":        Key{8},
		"cut number":         Key{tagU64, 0},
		"cut bytes":          Key{tagBytes, 0, 0, 0, 0, 0, 0, 0, 9, 1},
		"huge length":        Key(append([]byte{tagBytes}, bytes.Repeat([]byte{0xff}, 8)...)),
		"trailing":           append(Null(), 0),
		"empty utf8":         Utf8(""),
		"invalid utf8":       Utf8("\xff"),
		"bool 2":             Key{tagBool, 2},
		"cut bool":           Key{tagBool},
		"cut list":           Key{tagList, 0, 0},
		"list of too many":   List(many...),
		"nested too deep":    deep,
		"too long":           Utf8(strings.Repeat("x", MaxTypedKey)),
		"empty native key":   NativeKey{},
		"unknown form":       NativeKey(append([]byte{9}, NativeID("n", Null())[1:]...)),
		"no namespace":       NativeID("", Null()),
		"long namespace":     NativeID(strings.Repeat("n", MaxLabel+1), Null()),
		"cut namespace":      NativeKey{1, 0, 0},
		"composite cut":      Composite("n", Null(), Null())[:15],
		"composite trailing": append(Composite("n", Null()), 0),
		"composite of many":  Composite("n", many...),
		"scope missing":      Position("k", RevisionScoped, U64(1), nil),
		"scope too much":     Position("k", AppendStable, U64(1), U64(2)),
		"unknown stability":  Position("k", 4, U64(1), nil),
		"position cut":       NativeKey(appendLP([]byte{formPosition}, "k")),
		"empty anchor":       Anchor{},
		"short lineage":      Anchor{anchorLineage, 1},
		"composite anchor":   Anchor(Composite("n", Null())),
	}
	for name, v := range cases {
		if v.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := Position("k", RevisionScoped, U64(1), Utf8("r")).Validate(); err != nil {
		t.Error(err)
	}
	if err := Utf8(strings.Repeat("x", MaxTypedKey-9)).Validate(); err != nil {
		t.Errorf("the longest key: %v", err)
	}
}

func FuzzNativeKey(f *testing.F) {
	f.Add([]byte(Composite("n", Utf8("u"), U64(1), List(Null(), Bool(true)))))
	f.Add([]byte(Position("k", RevisionScoped, U64(1), Utf8("r"))))
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 1, 'n', 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		// Whatever is accepted stays accepted on its own, and nothing may
		// be added to it.
		if NativeKey(b).Validate() == nil && NativeKey(append(bytes.Clone(b), 0)).Validate() == nil {
			t.Fatalf("%x has two ends", b)
		}
		_ = Anchor(b).Validate()
		_ = Key(b).Validate()
	})
}

func TestAnchorsAreReadBack(t *testing.T) {
	t.Parallel()
	three := NativeAnchor("acme.run", List(Utf8("root"), Null(), Utf8("agent")))
	if got, err := three.Native("acme.run", 3); err != nil || !slices.Equal(got, []string{"root", "", "agent"}) {
		t.Errorf("%q, %v", got, err)
	}
	one := NativeAnchor("acme.session", Utf8("s"))
	if got, err := one.Native("acme.session", 1); err != nil || got[0] != "s" {
		t.Errorf("%q, %v", got, err)
	}
	for name, bad := range map[string]Anchor{
		"nothing": nil, "another namespace": NativeAnchor("acme.other", Utf8("s")), "a number": NativeAnchor("acme.session", U64(1)),
		"more": append(slices.Clone(one), 0), "cut": one[:len(one)-1], "a lineage": {anchorLineage}, "a list": NativeAnchor("acme.session", List(Utf8("s"))),
	} {
		if got, err := bad.Native("acme.session", 1); err == nil || len(got) != 1 || got[0] != "" {
			t.Errorf("%s: read as %q", name, got)
		}
	}
}
