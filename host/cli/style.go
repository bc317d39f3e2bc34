package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// style says how one stream shows human text.
type style struct {
	color    bool
	unicode  bool
	terminal bool
	width    int // columns of the terminal, 0 when text must not be wrapped
}

type mark int

const (
	markDone mark = iota
	markWarning
	markFailed
)

func (a *App) stdoutStyle() style { return a.styleOf(a.Stdout, os.Stdout) }
func (a *App) stderrStyle() style { return a.styleOf(a.Stderr, os.Stderr) }

func (a *App) styleOf(w io.Writer, file *os.File) style {
	s := style{unicode: utf8Locale(a.Getenv)}
	if f, ok := streamBehind(w).(*os.File); ok && f == file && term.IsTerminal(int(f.Fd())) {
		s.terminal = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			s.width = width
		}
	}
	switch a.color {
	case "always":
		s.color = true
	case "auto":
		s.color = s.terminal && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
	}
	return s
}

func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(getenv(name)); value != "" {
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return os.PathSeparator == '\\' // a Windows console has no locale variable and shows UTF-8
}

func (s style) mark(m mark) string {
	plain := [...]string{"OK", "!", "X"}
	if s.unicode {
		plain = [...]string{"✓", "!", "✗"}
	}
	return s.paint([...]string{"32", "33", "31"}[m], plain[m])
}

func (s style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string { return s.paint("1", text) }
func (s style) dim(text string) string  { return s.paint("2", text) }

// safe makes recorded text harmless on a terminal: control characters and bidirectional overrides are shown as escapes.
// Line feeds and tabs stay. Without a terminal the text is left exactly as it is stored.
func (s style) safe(text string) string {
	if !s.terminal {
		return text
	}
	return escapeControls(text)
}

func escapeControls(text string) string {
	if strings.IndexFunc(text, unsafeRune) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !unsafeRune(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// unsafeRune tells the C0 and C1 controls (but line feed and tab) and the bidirectional formatting characters.
func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// oneLine is text for a field: white space collapsed, controls always escaped.
func oneLine(text string) string { return escapeControls(strings.Join(strings.Fields(text), " ")) }
