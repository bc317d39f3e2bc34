package cli

import (
	"regexp"
	"strings"
)

// heading is a line that begins a section.
var heading = regexp.MustCompile(`^ {0,3}#{1,6}([ \t]|$)`)

// underline is a line that makes a heading of the one above it.
var underline = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)

// fence follows the fenced code blocks of a Markdown text line by line.
type fence struct{ mark string }

// holds tells whether a line is code or begins or ends it.
func (f *fence) holds(line string) bool {
	line = strings.TrimLeft(line, " \t")
	rest := strings.TrimLeft(line, "`")
	if rest == line {
		rest = strings.TrimLeft(line, "~")
	}
	mark := line[:len(line)-len(rest)]
	switch {
	case f.mark == "" && len(mark) >= 3 && !(mark[0] == '`' && strings.Contains(rest, "`")):
		f.mark = mark
		return true
	case f.mark == "":
		return false
	case strings.HasPrefix(mark, f.mark) && strings.TrimSpace(rest) == "":
		f.mark = ""
	}
	return true
}

// contained keeps a Markdown text from changing the document around it: its headings go two levels down, so that the sections of the
// document stay above them, tags are shown instead of read, and a code block that was left open ends with the text.
func contained(text string) string {
	var b strings.Builder
	var code fence
	blank := true
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if !code.holds(line) {
			switch {
			case heading.MatchString(line):
				at := strings.IndexByte(line, '#')
				level := len(line[at:]) - len(strings.TrimLeft(line[at:], "#"))
				line = line[:at] + strings.Repeat("#", min(2, 6-level)) + line[at:]
			case !blank && underline.MatchString(line):
				b.WriteByte('\n')
			}
			line = withoutTags(line)
		}
		b.WriteString(line + "\n")
		blank = strings.TrimSpace(line) == ""
	}
	if code.mark != "" {
		b.WriteString(code.mark + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// tag is the beginning of what a reader of Markdown takes for HTML; span is code within a line, where it is not.
var (
	tag  = regexp.MustCompile(`<(/?[A-Za-z][\w-]*(?:[ \t/>]|$)|[!?])`)
	span = regexp.MustCompile("``[^`].*?``|`[^`]+`")
)

func withoutTags(line string) string {
	var b strings.Builder
	escape := func(text string) { b.WriteString(tag.ReplaceAllString(text, `\<$1`)) }
	at := 0
	for _, code := range span.FindAllStringIndex(line, -1) {
		escape(line[at:code[0]])
		b.WriteString(line[code[0]:code[1]])
		at = code[1]
	}
	escape(line[at:])
	return b.String()
}

// fenced is text as a code block, whose marks are longer than any within.
func fenced(text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + "\n" + strings.TrimRight(text, "\n") + "\n" + mark
}
