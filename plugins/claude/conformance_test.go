package claude

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
	conformance.Run(t, conformance.Config{
		Command: conformance.Self(),
		Sources: sources,
		Fixture: conformance.Lines{
			FormatName: formatName,
			Role:       routeRole,
			Name: func(session int) string {
				if session%3 == 2 {
					return fmt.Sprintf("-p%d/S%d/subagents/agent-%d.jsonl", session%7, session-1, session)
				}
				return fmt.Sprintf("-p%d/S%d.jsonl", session%7, session)
			},
			Line: func(session, record int, text string) []byte {
				return fmt.Appendf(nil,
					`{"type":"user","uuid":"u%d","sessionId":"S%d","timestamp":%d,"cwd":"/w","message":{"role":"user","content":%q}}`,
					record, session, 1767323045000+1000*record, text)
			},
		},
	})
}
