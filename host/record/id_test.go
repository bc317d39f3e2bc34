package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"
)

const threadP = "01900000-0000-7000-8000-000000000001"

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

func text(s string) []byte { return AppendTypedUTF8(nil, s) }

func keyList(items ...[]byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte{tkList}, uint32(len(items)))
	return append(out, bytes.Join(items, nil)...)
}

func null() []byte { return []byte{tkNull} }

// native is the anchor and session key pair of a provider whose two namespaces may differ.
type native struct {
	provider, anchorNS, kind, keyNS string
	key                             []byte
}

func (n native) source() Digest { return SourceID(n.provider, AppendNativeID(nil, n.anchorNS, n.key)) }

func (n native) session() Digest {
	return SessionID(n.source(), n.kind, AppendNativeID(nil, n.keyNS, n.key))
}

func codexThread(id string) native {
	return native{"codex", "codex.session", "codex-session", "codex.session", text(id)}
}

func claudeSession(key ...[]byte) native {
	return native{"claude", "claude.session-leaf", "claude-session", "claude.session", keyList(key...)}
}

func TestSourceAndSessionVectors(t *testing.T) {
	const golden = "provider-native-identity-golden"
	const root = "11111111-2222-4333-8444-555555555555"
	tests := []struct {
		name            string
		in              native
		source, session string
	}{
		{"codex", codexThread(threadP), "0b03403c-ae54-8cc9-bbaa-c0084c89c0af", "5e9f0460-5311-83b3-b803-8c23887fddcc"},
		{"codex second thread", codexThread("01900000-0000-7000-8000-000000000002"),
			"ae2b6e29-4a63-8fa3-8822-1cac5693d178", "19e280e8-554c-8d5c-8bdc-471b0a04a2ab"},
		{"claude workflow", claudeSession(text("claude-root"), text("claude-workflow"), text("claude-agent")),
			"4c29621c-26f8-8848-87b6-61c7d67bdbf5", "a66bd1e0-2491-8189-a158-e7d05c8149c6"},
		{"claude main", claudeSession(text(root), null(), null()),
			"a109c728-96b2-872c-bd60-777c877f6dfd", "9074deb2-0f79-8e34-85a3-710c1eedb598"},
		{"claude subagent", claudeSession(text(root), null(), text("agent-a1b2c3")),
			"1e0a78e3-cc5c-863f-aedb-f0b0f3804751", "27a583b3-bf4c-8449-8063-f7dd8e265f84"},
		{"claude workflow subagent", claudeSession(text(root), text("wf_1"), text("agent-a1b2c3")),
			"812120bd-7dc0-80c9-bb94-d730d7d71557", "b8d7513d-129a-800a-b988-12dca3c2b5c3"},
		{"cursor", native{"cursor", "cursor.session", "cursor-session", "cursor.session", text(golden)},
			"992b3fb9-7785-8c1f-bad4-ec397f03f13e", "c041f64d-87e9-86ef-9057-6f3dd4cb0504"},
		{"qoder", native{"qoder", "qoder.direct-jsonl-session", "direct-jsonl-session", "qoder.direct-jsonl-session", text(golden)},
			"fc73bf64-abb2-894d-b4a7-69647f3ccd5e", "bd167add-b16d-8ef9-85eb-cf8da8b9761e"},
		{"gemini", native{"gemini", "gemini.session", "gemini-session", "gemini.session", text(golden)},
			"13079e95-4157-85b6-9d32-c5ee8734d97a", "d91143ce-fd7d-800c-8b9c-b47ecd802a0c"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.in.source().String(); got != test.source {
				t.Errorf("source %s, want %s", got, test.source)
			}
			if got := test.in.session().String(); got != test.session {
				t.Errorf("session %s, want %s", got, test.session)
			}
			if err := ValidAnchor(AppendNativeID(nil, test.in.anchorNS, test.in.key)); err != nil {
				t.Errorf("anchor refused: %v", err)
			}
		})
	}
}

func TestWholeDigests(t *testing.T) {
	p := codexThread(threadP)
	if got, want := p.source().Hex(), "0b03403cae54fcc9fbaac0084c89c0afdd51575779c90dfd65c5f506458d38cf"; got != want {
		t.Errorf("source %s", got)
	}
	if got, want := p.session().Hex(), "5e9f04605311e3b378038c23887fddccd3ef25ff8d270ad10102e801a411977f"; got != want {
		t.Errorf("session %s", got)
	}
	got := DescriptorDigest("codex", "codex_session_jsonl", "codex-nativepath-jsonl-v0", 1, p.source()).Hex()
	if want := "12760738b34ce994a5cd73987ae130b06e28e341b024b8fee3f328211fa8ccc6"; got != want {
		t.Errorf("descriptor %s", got)
	}
}

func TestClaudeEventVectors(t *testing.T) {
	const root = "11111111-2222-4333-8444-555555555555"
	main := claudeSession(text(root), null(), null())
	agent := claudeSession(text(root), null(), text("agent-a1b2c3"))
	tests := []struct {
		in   native
		idx  uint64
		want string
	}{
		{main, 0, "87f74418-311b-8748-8ac6-2d3fdd6942e4"},
		{main, 1, "6e99a54e-1224-88b9-a870-5a1a34fa2617"},
		{agent, 0, "560f9797-e9ac-8c58-b649-b5a218a60910"},
	}
	for _, test := range tests {
		key := AppendComposite(nil, "claude.event", text("u-1"), AppendTypedU64(nil, test.idx))
		if got := EventID(test.in.source(), test.in.session(), "claude-event", key, nil).String(); got != test.want {
			t.Errorf("event %s, want %s", got, test.want)
		}
	}
}

// codexFallback is the content digest of a Codex item without a native id, at 2026-01-02T03:04:05Z.
func codexFallback(eventType, role, body string) []byte {
	lenPrefixed := func(dst []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint64(dst, uint64(len(s))), s...)
	}
	b := []byte("ctx/codex-nativepath/fallback-event/v1\x00")
	b = binary.LittleEndian.AppendUint64(b, 1767323045)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = lenPrefixed(b, eventType)
	b = lenPrefixed(append(b, 1), role)
	b = lenPrefixed(b, body)
	sum := sha256.Sum256(b)
	return sum[:]
}

func TestCodexEventVectors(t *testing.T) {
	nativeV1 := func(by, id, eventType, role string, n uint64) []byte {
		return AppendComposite(nil, "codex.event.v1", text("provider-native-v1"), text(by), text(id), text(eventType), text(role), AppendTypedU64(nil, n))
	}
	fallback := func(eventType, role, body string, n uint64) []byte {
		digest := appendLP([]byte{tkBytes}, codexFallback(eventType, role, body))
		return AppendComposite(nil, "codex.event.v1", text("fallback-v1"), digest, AppendTypedU64(nil, n))
	}
	if got := hex.EncodeToString(codexFallback("message", "user", "hi")); got != "b79924450ad326438bd7202a2167f71b445a1716f14f784b2074fb11c2272b47" {
		t.Fatalf("fallback digest %s", got)
	}
	tests := []struct {
		key  []byte
		want string
	}{
		{nativeV1("call_id", "c1", "tool_call", "assistant", 0), "5809a91d-b97a-8235-bb06-db32045a9e20"},
		{nativeV1("call_id", "c1", "tool_output", "tool", 0), "7f900582-3143-8d93-9847-18facfa95b65"},
		{nativeV1("call_id", "c1", "command_output", "tool", 0), "5aaec8c6-593a-8ee6-b8d1-0b5a1cf6c5b3"},
		{nativeV1("call_id", "c1", "command_output", "tool", 1), "307e94b3-09eb-802d-985d-9b45f8ebc12d"},
		{nativeV1("id", "msg_1", "message", "user", 0), "4e9d9efa-02b2-85b1-8667-d598306a852a"},
		{nativeV1("id", "msg_1", "message", "user", 1), "9a8baed2-1bee-85c7-bb19-07e440983065"},
		{nativeV1("id", "msg_1", "message", "assistant", 0), "5742039a-80b9-8cac-b974-45bb13d7dad0"},
		{fallback("message", "user", "hi", 0), "0ac4f4ae-dcc5-8bd9-8c17-bbb1cfc6c6e3"},
		{fallback("message", "user", "hi", 1), "f0f90c78-4923-8f7f-a496-e9ca6313de47"},
		{fallback("message", "assistant", "message assistant", 0), "b95bb6cc-731f-8d3d-b341-9a5f7678ecca"},
	}
	p := codexThread(threadP)
	for _, test := range tests {
		if err := ValidNativeKey(test.key); err != nil {
			t.Errorf("key refused: %v", err)
		}
		if got := EventID(p.source(), p.session(), "codex-event", test.key, nil).String(); got != test.want {
			t.Errorf("event %s, want %s", got, test.want)
		}
	}
}

func TestLineageVectors(t *testing.T) {
	work := NamedRootLineage("codex", "work")
	if got := work.Hex(); got != "8589bcfaea56466612bc8bc6dfaa06e36242a2a5c01128ba1212994253f3ebb0" {
		t.Errorf("lineage %s", got)
	}
	automatic := NamedRootLineage("codex", "")
	if got := automatic.Hex(); got != "9b200cccd3f41fa604ab72b11c8462e8eb70b1b52bf8f164b5468e5138336c2e" {
		t.Errorf("automatic lineage %s", got)
	}

	anchor := AppendNativeID(nil, "codex.session", text(threadP))
	source := SourceID("codex", WithLineage(anchor, work))
	if got := source.String(); got != "559f312b-c838-8cf3-aaca-367c508f47ab" {
		t.Errorf("source in a named root %s", got)
	}
	if got := SessionID(source, "codex-session", AppendNativeID(nil, "codex.session", text(threadP))).String(); got != "617a43f9-7661-8b59-9b7b-cff5a2bff98b" {
		t.Errorf("session in a named root %s", got)
	}

	prompts := SourceID("codex", WithLineage(nil, automatic))
	session := SessionID(prompts, "codex-prompt-history-session", AppendNativeID(nil, "codex.prompt-history.session", text("s")))
	position := append(appendLP([]byte{keyPosition}, "codex.prompt-history.raw-ordinal"), 1)
	position = AppendTypedU64(position, 0)
	if err := ValidNativeKey(position); err != nil {
		t.Errorf("position refused: %v", err)
	}
	event := EventID(prompts, session, "codex-prompt-history-event", position, nil)
	for got, want := range map[string]string{
		prompts.String(): "3d157940-c091-8f03-9fe1-d5533552f5ce",
		session.String(): "d7b1b13c-016e-84d4-a16b-d95ab87781bf",
		event.String():   "880199aa-2b08-824a-928f-666b6f21b2cb",
	} {
		if got != want {
			t.Errorf("prompt history id %s, want %s", got, want)
		}
	}
}

func TestSelectorIsAFieldOfItsOwn(t *testing.T) {
	p := codexThread(threadP)
	key := AppendNativeID(nil, "codex.event.v1", text("a"))
	plain := EventID(p.source(), p.session(), "k", key, nil)
	part := EventID(p.source(), p.session(), "k", key, AppendNativeID(nil, "part", AppendTypedU64(nil, 0)))
	if plain == part {
		t.Error("the selector does not change the id")
	}
	if plain != EventID(p.source(), p.session(), "k", key, []byte{}) {
		t.Error("an empty selector is not the same as none")
	}
}

func TestCanonicalID(t *testing.T) {
	p := codexThread(threadP)
	descriptor := DescriptorDigest("codex", "codex_session_jsonl", "codex-nativepath-jsonl-v0", 1, p.source())
	id := CanonicalID(KindSession, p.session(), p.source(), descriptor)
	session, source, uuid := p.session(), p.source(), p.session().UUID()
	want := bytes.Join([][]byte{{0, 1, 2}, session[:], source[:], descriptor[:], uuid[:]}, nil)
	if len(want) != 115 || !bytes.Equal(id[:], want) {
		t.Fatalf("canonical id %x", id)
	}
}
