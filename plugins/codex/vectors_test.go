package codex

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// TestKnownIDs holds the native keys to ids that are published and never change.
func TestKnownIDs(t *testing.T) {
	anchors := map[string][2]string{
		u1: {"0b03403c-ae54-8cc9-bbaa-c0084c89c0af", "5e9f0460-5311-83b3-b803-8c23887fddcc"},
		u2: {"ae2b6e29-4a63-8fa3-8822-1cac5693d178", "19e280e8-554c-8d5c-8bdc-471b0a04a2ab"},
	}
	for thread, want := range anchors {
		if got := public(sourceDigest(anchorOf(thread))); got != want[0] {
			t.Errorf("source of %s is %s, want %s", thread, got, want[0])
		}
		if got := public(sessionDigest(anchorOf(thread), ownRef(thread))); got != want[1] {
			t.Errorf("session of %s is %s, want %s", thread, got, want[1])
		}
	}
	session := &sdkplugin.Session{Ref: ownRef(u1)}
	var k eventKeys
	id := func(occurrence uint64) string {
		return eventID(session, &sdkplugin.Event{Kind: eventKind, Key: k.number(occurrence)})
	}
	for _, v := range []struct {
		member, id, typ, role string
		occurrence            uint64
		want                  string
	}{
		{"call_id", "c1", "tool_call", "assistant", 0, "5809a91d-b97a-8235-bb06-db32045a9e20"},
		{"call_id", "c1", "tool_output", "tool", 0, "7f900582-3143-8d93-9847-18facfa95b65"},
		{"call_id", "c1", "command_output", "tool", 0, "5aaec8c6-593a-8ee6-b8d1-0b5a1cf6c5b3"},
		{"call_id", "c1", "command_output", "tool", 1, "307e94b3-09eb-802d-985d-9b45f8ebc12d"},
		{"id", "msg_1", "message", "user", 0, "4e9d9efa-02b2-85b1-8667-d598306a852a"},
		{"id", "msg_1", "message", "user", 1, "9a8baed2-1bee-85c7-bb19-07e440983065"},
		{"id", "msg_1", "message", "assistant", 0, "5742039a-80b9-8cac-b974-45bb13d7dad0"},
	} {
		if k.native(v.member, v.id, v.typ, v.role); id(v.occurrence) != v.want {
			t.Errorf("%+v is %s", v, id(v.occurrence))
		}
	}
	at, _ := texts.ParseTime([]byte(t0))
	k.fallback(at, "message", "user", []byte("hi"))
	if got := hex.EncodeToString(k.digest[:]); got != "b79924450ad326438bd7202a2167f71b445a1716f14f784b2074fb11c2272b47" {
		t.Errorf("digest %s", got)
	}
	for n, want := range []string{"0ac4f4ae-dcc5-8bd9-8c17-bbb1cfc6c6e3", "f0f90c78-4923-8f7f-a496-e9ca6313de47"} {
		if got := id(uint64(n)); got != want {
			t.Errorf("fallback %d is %s, want %s", n, got, want)
		}
	}
	k.fallback(at, "message", "assistant", []byte("message assistant"))
	if got := id(0); got != "b95bb6cc-731f-8d3d-b341-9a5f7678ecca" {
		t.Errorf("the id of a message with an empty text is %s", got)
	}
}

// TestKnownPromptIDs does the same for the prompt log of the automatic home.
func TestKnownPromptIDs(t *testing.T) {
	h := newHome(t)
	h.write(promptFile, lines(row("s", "1", "x")))
	got := h.full("")
	anchor := sdkplugin.LineageAnchor(h.routes()[2])
	session := got.sessions[0]
	if id := public(sourceDigest(anchor)); id != "3d157940-c091-8f03-9fe1-d5533552f5ce" {
		t.Errorf("source %s", id)
	}
	if id := public(sessionDigest(anchor, session.Ref)); id != "d7b1b13c-016e-84d4-a16b-d95ab87781bf" {
		t.Errorf("session %s", id)
	}
	session.Ref.Anchor = anchor
	key := sdkplugin.Position(promptPosition, sdkplugin.AppendStable, sdkplugin.U64(0), nil)
	if id := eventID(&session, &sdkplugin.Event{Kind: promptEventKind, Key: key}); id != "880199aa-2b08-824a-928f-666b6f21b2cb" {
		t.Errorf("event %s", id)
	}
}

func TestUUIDTime(t *testing.T) {
	for id, want := range map[string]uint64{u1: 0x019000000000, "01900001-0000-7000-8000-0000000000aa": 0x019000010000, "019000AB-cdef-7000-8000-0000000000aa": 0x019000abcdef} {
		if ms, ok := uuidTime(id); !ok || ms != want {
			t.Errorf("%s is %x, %v", id, ms, ok)
		}
	}
	for _, id := range []string{"", "01900000-0000-4000-8000-000000000001", "x1900000-0000-7000-8000-000000000001"} {
		if _, ok := uuidTime(id); ok {
			t.Errorf("%s has a time", id)
		}
	}
}

// TestLongestID keeps the key of every id inside the limit of the host, which counts all its parts together.
func TestLongestID(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, n := range []int{maxNativeID, maxNativeID + 1} {
		h.write(fileOf(u1), lines(meta0(u1), output(strings.Repeat("c", n), "a")))
		got := h.full(u1)
		if len(got.events) != 1 || got.longest > sdkplugin.MaxTypedKey || strings.Contains(got.events[0], "call=") != (n == maxNativeID) {
			t.Errorf("id of %d bytes: key of %d bytes, event %.200q", n, got.longest, got.events)
		}
	}
}
