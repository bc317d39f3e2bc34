package history

import (
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
)

func FuzzRangeCursor(f *testing.F) {
	p := rangePosition{generation: strings.Repeat("a", 64), key: record.FirstAt(1)}
	for _, seed := range []string{p.encode(), "", "AAAA", p.encode()[:247], strings.Repeat("_", 248)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decodeRangeCursor(text)
		if err == nil && got.encode() != text {
			t.Errorf("%q decodes but is not what encodes", text)
		}
	})
}

func FuzzSessionCursor(f *testing.F) {
	valid := encodeSessionCursor(strings.Repeat("0", 64), fixture.SessionID("", "s"), record.SessionKey{27: 0x80, 29: 0x80})
	for _, seed := range []string{valid, "", valid[1:], strings.Repeat("A", len(valid))} {
		f.Add(seed)
	}
	if _, err := decodeSessionCursor(valid); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decodeSessionCursor(text)
		if err == nil && encodeSessionCursor(got.generation, got.session, got.key) != text {
			t.Errorf("%q decodes but is not what encodes", text)
		}
	})
}

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"01234567", "01234567-89ab-8def-8123-456789abcdef", "{x}", "urn:uuid:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		digits, full, err := ParseID("event", text)
		if err != nil {
			return
		}
		if len(digits) < minPrefix || len(digits) > maxPrefix || full && len(digits) != maxPrefix || !isHex(digits) {
			t.Errorf("%q: %q %v", text, digits, full)
		}
	})
}
