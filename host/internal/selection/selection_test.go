package selection

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`C:\Users\Dev`: "c:/users/dev", "Ärger": "ärger", "STRASSE": "strasse", "straße": "straße", "İx": "i̇x", "ΣΑΣ": "σασ", "\xff": "\uFFFD",
	} {
		if got := string(Fold(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if !contains([]byte(`pay\Ärger.GO`), Fold("PAY/ärger")) || contains([]byte("STRASSE"), Fold("straße")) {
		t.Error("contains does not fold both sides")
	}
	for _, in := range []string{"/srv/app", "/srv/app/", `/srv/app\/`} {
		if string(foldDirectory(in)) != "/srv/app" {
			t.Errorf("%q: %q", in, foldDirectory(in))
		}
	}
}

func TestLowerIsUnicode(t *testing.T) {
	t.Parallel()
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if !utf8.ValidRune(c) || c == 'İ' {
			continue
		}
		if got := string(AppendLower(nil, c)); got != string(unicode.ToLower(c)) {
			t.Fatalf("%U: %q", c, got)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/home/dev/my.app/": "home-dev-my-app", `C:\Users\dev`: "c-users-dev", "/srv/über": "srv-ber", "plain": "plain", "/": "", "a__b": "a-b",
	} {
		if got := encodeLabel(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := encodeLabel(strings.Repeat("x", 300)); len(got) != 200 {
		t.Errorf("a label of %d characters", len(got))
	}
	for in, want := range map[string]string{"-home-dev-my-app": "home-dev-my-app", "--Users--Dev": "users-dev", "home-dev-": "home-dev-", "": ""} {
		if got := foldLabel(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-03-01T10:00:00Z": "2026-03-01T10:00:00.000Z", "2026-03-01t10:00:00.25z": "2026-03-01T10:00:00.250Z",
		"2026-03-01T10:00:00+05:30": "2026-03-01T04:30:00.000Z", "2026-03-01T10:00:00.1230000-08:00": "2026-03-01T18:00:00.123Z",
		"2026-03-01": "", "2026-03-01T10:00:00": "", "2026-03-01 10:00:00Z": "", "2026-3-1T10:00:00Z": "", "2026-03-01T10:00:00,5Z": "",
		"2026-02-30T10:00:00Z": "", "2026-03-01T24:00:00Z": "", "2026-03-01T10:00:00.Z": "", "": "", "now": "", " 2026-03-01T10:00:00Z": "",
	} {
		got, ok := ParseTime(text)
		if ok != (want != "") || ok && FormatTime(got.UnixMilli()) != want {
			t.Errorf("%q: %v %v", text, got, ok)
		}
	}
	exact, _ := ParseTime("2026-03-01T10:00:00.123Z")
	if ms, ok := WholeMilliseconds(exact); !ok || ms%1000 != 123 {
		t.Errorf("%d %v", ms, ok)
	}
	between, _ := ParseTime("2026-03-01T10:00:00.1231Z")
	if _, ok := WholeMilliseconds(between); ok {
		t.Error("a part of a millisecond passed")
	}
}

func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"0d": "2026-03-15T12:00:00.000Z", "14d": "2026-03-01T12:00:00.000Z", "2026-03-01T00:00:00+01:00": "2026-02-28T23:00:00.000Z",
		"2026-03-01T00:00:00.0001Z": "2026-03-01T00:00:00.001Z",
		"d":                         "", "-1d": "", "1.5d": "", "1h": "", "12345678d": "", "yesterday": "", "2026-03-01": "",
	} {
		ms, ok := ParseSince(text, now)
		if ok != (want != "") || ok && FormatTime(ms) != want {
			t.Errorf("%q: %s %v", text, FormatTime(ms), ok)
		}
	}
}

func TestSplitHistorySource(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a/b": "a|b", "a/b/c": "a|b/c", "ab": "", "/b": "", "a/": "", "": ""} {
		key, id, ok := SplitHistorySource(text)
		if ok != (want != "") || ok && key+"|"+id != want {
			t.Errorf("%q: %q %q %v", text, key, id, ok)
		}
	}
}

func TestOrdinals(t *testing.T) {
	t.Parallel()
	var o Ordinals
	for _, n := range []uint32{0, 63, 64, 1000} {
		o.Add(n)
	}
	for n := range uint32(2000) {
		if want := n == 0 || n == 63 || n == 64 || n == 1000; o.Has(n) != want {
			t.Errorf("%d: %v", n, o.Has(n))
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{"2026-03-01T10:00:00Z", "2026-03-01t10:00:00.5+01:00", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := ParseTime(text)
		if !ok {
			return
		}
		if back, ok := ParseTime(FormatTime(got.UnixMilli())); ok && back.UnixMilli() != got.UnixMilli() {
			t.Errorf("%q: %v came back as %v", text, got, back)
		}
	})
}
