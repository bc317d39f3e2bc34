package cli

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/agenthistory/ctx/host/internal/onscreen"
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
	if f, ok := terminalOf(streamBehind(w)); ok && f == file {
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

// terminalOf is the terminal that a stream is.
func terminalOf(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
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
	return onscreen.Escape(text)
}

// oneLine is text for a field: white space collapsed, controls always escaped.
func oneLine(text string) string { return onscreen.Line(text) }
