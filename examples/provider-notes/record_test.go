package main

import (
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

func TestTitle(t *testing.T) {
	cases := map[string]string{
		"":                                  "",
		" \n  Buy  milk\tand\n bread ":      "Buy milk and",
		strings.Repeat("ü", maxTitle+1):     strings.Repeat("ü", maxTitle),
		"one line\r\nanother line, ignored": "one line",
	}
	for text, want := range cases {
		if got := title(text); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
}

func TestInstant(t *testing.T) {
	var doc canonical.Doc
	cases := map[string]int64{
		`"2026-01-02T03:04:05.678Z"`:  1767323045678,
		`"2026-01-02T04:04:05+01:00"`: 1767323045000,
		`"yesterday"`:                 0,
		`null`:                        0,
	}
	for text, want := range cases {
		if err := doc.Parse([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := instant(doc.Root()); got.Millis != want || got.Known != (want != 0) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
