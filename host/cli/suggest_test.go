package cli

import (
	"strings"
	"testing"
)

func TestTellingWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Fix the flaky retry of the upload queue":                       "flaky retry upload queue",
		"Why does `parser` crash, again? See src/main.go:12":            "parser crash",
		"deploy sk-ant-abc123 AKIAIOSFODNN7EXAMPLE staging":             "deploy staging",
		"login with qwrtzpsdfgh and xKcdAbQz to the gateway":            "login gateway",
		"my password is correcthorse battery":                           "",
		"export API_KEY=sesame gateway timeout":                         "",
		strings.Repeat("a", 31) + " gateway timeout":                    "gateway timeout",
		"Überprüfe die Übersetzung":                                     "überprüfe übersetzung",
		"<command-name>/init</command-name> https://example.com/falcon": "",
		`"; rm -rf $HOME; echo "falcon migration"`:                      "echo falcon migration",
		"migration Migration MIGRATION migration.":                      "migration",
		"": "",
	} {
		if got := strings.Join(tellingWords(text), " "); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}
