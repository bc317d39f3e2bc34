package texts

import (
	"strings"
	"testing"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " \n\t ": "", " a\n\tb  c ": "a b c", "grüße\u2003x": "grüße x",
		strings.Repeat("ä", 300): strings.Repeat("ä", MaxTitle), strings.Repeat("a", 199) + " bb": strings.Repeat("a", 199),
	} {
		if got := OneLine([]byte(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{
		"2026-01-02T03:04:05.000Z": 1767323045000, "2026-01-02t03:04:05z": 1767323045000, "2026-01-02 04:04:05.5+01:00": 1767323045500,
	} {
		if got, ok := ParseTime([]byte(text)); !ok || got.UnixMilli() != want {
			t.Errorf("%s is %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "2026-01-02", "2026-13-02T03:04:05Z", "2026-01-02T03:04:05", "yesterday"} {
		if _, ok := ParseTime([]byte(text)); ok {
			t.Errorf("%s is a time", text)
		}
	}
}

func TestBlank(t *testing.T) {
	if !Blank(nil) || !Blank([]byte(" \n")) || Blank([]byte(" x ")) || View([]byte("v")) != "v" {
		t.Error("blank or view")
	}
}
