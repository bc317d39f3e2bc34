package codex

import (
	"fmt"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/conformance"
)

func TestMain(m *testing.M) { conformance.Main(m, New()) }

func TestConformance(t *testing.T) {
	sources := 10000
	if testing.Short() {
		sources = 500
	}
	thread := func(session int) string { return fmt.Sprintf("01900000-0000-7000-8000-%012x", session) }
	conformance.Run(t, conformance.Config{
		Command: conformance.Self(),
		Sources: sources,
		Fixture: conformance.Lines{
			FormatName: treeFormat,
			Role:       sessionsRole,
			Name:       func(session int) string { return fileOf(thread(session)) },
			Line: func(session, record int, text string) []byte {
				return fmt.Appendf(nil, `{"timestamp":"2026-01-02T03:04:05.%03dZ","type":"response_item","payload":`+
					`{"type":"message","id":"m%d","role":"user","content":[{"type":"input_text","text":%q}]}}`, record%1000, record, text)
			},
		},
	})
}
