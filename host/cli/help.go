package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// onlyHolds ends the usage of a command that does nothing alone.
const onlyHolds = " COMMAND"

// helpWidth is the widest line of a help text.
const helpWidth = 100

// usageTemplate is the library's template with flags wrapped and without a line of flags for commands that only hold others.
const usageTemplate = `Usage:{{if alone .}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$all := .Commands}}{{range $part := .Groups}}

{{.Title}}:{{range $all}}{{if (and (eq .GroupID $part.ID) (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{else}}

Commands:{{range $all}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{wrappedFlags .LocalFlags | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of every command:
{{wrappedFlags .InheritedFlags | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

More about one: {{.CommandPath}} COMMAND --help{{end}}
`

// helpTemplate is the library's template with long texts wrapped.
const helpTemplate = `{{with .Long}}{{paragraph .}}

{{else}}{{with .Short}}{{.}}

{{end}}{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

func init() {
	cobra.AddTemplateFunc("paragraph", paragraph)
	cobra.AddTemplateFunc("alone", func(cmd *cobra.Command) bool { return cmd.Runnable() && !strings.HasSuffix(cmd.Use, onlyHolds) })
	cobra.AddTemplateFunc("wrappedFlags", func(flags *pflag.FlagSet) string { return flags.FlagUsagesWrapped(helpWidth) })
}

// paragraph wraps a help text to the width of help. One with indented lines, as those of the library have, is wrapped already.
func paragraph(text string) string {
	if strings.Contains(text, "\n\t") {
		return strings.TrimSpace(text)
	}
	var lines []string
	for block := range strings.SplitSeq(text, "\n\n") {
		line := ""
		for word := range strings.FieldsSeq(block) {
			if line != "" && len(line)+1+len(word) > helpWidth {
				lines = append(lines, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line, "")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
