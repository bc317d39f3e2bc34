package main

import (
	"fmt"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/conformance"
)

// The test binary is also the provider that the kit starts.
func TestMain(m *testing.M) { conformance.Main(m, provider{}) }

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Config{
		Command: conformance.Self(),
		Sample:  &conformance.Sample{Path: "testdata"},
		Fixture: conformance.Lines{
			FormatName: format,
			Role:       role,
			Name:       func(session int) string { return fmt.Sprintf("book%d/s%05d.jsonl", session%5, session) },
			Header: func(int) []byte {
				return []byte(`{"kind":"open","dir":"/home/me/shop","at":"2026-01-02T03:04:05Z"}` + "\n")
			},
			// All kinds of records take turns.
			Line: func(_, record int, text string) []byte {
				at := fmt.Sprintf("2026-01-02T03:%02d:%02d.5Z", record/60%60, record%60)
				switch record % 3 {
				case 0:
					return fmt.Appendf(nil, `{"kind":"note","id":"n%d","by":"me","text":%q,"at":%q}`, record, text, at)
				case 1:
					return fmt.Appendf(nil, `{"kind":"run","id":"n%d","call":"c%d","tool":"shell","input":{"command":%q},"at":%q}`, record, record, text, at)
				}
				return fmt.Appendf(nil, `{"kind":"output","id":"n%d","call":"c%d","text":%q,"error":true,"at":%q}`, record, record-1, text, at)
			},
		},
	})
}
