package cursor

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
			FormatName: transcriptFormat,
			Role:       transcriptsRole,
			Name: func(session int) string {
				switch dir := fmt.Sprintf("p%d/agent-transcripts", session%7); session % 3 {
				case 1:
					return fmt.Sprintf("%s/S%d.jsonl", dir, session)
				case 2:
					return fmt.Sprintf("%s/S%d/subagents/U%d.jsonl", dir, session-1, session)
				default:
					return fmt.Sprintf("%s/S%d/S%d.jsonl", dir, session, session)
				}
			},
			Line: func(_, record int, text string) []byte {
				return fmt.Appendf(nil, `{"timestamp":%d,"role":"user","message":{"content":[{"type":"text","text":%q}]}}`, 1767323045000+1000*record, text)
			},
		},
	})
}
