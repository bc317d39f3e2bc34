package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// page lays out human text: an outcome line, titled sections of aligned fields, and at the end what to do next.
type page struct {
	w     io.Writer
	style style
	err   error
	begun bool
	quiet bool // --quiet: what only says that all is well is not written
}

func (a *App) page() *page { return &page{w: a.Stdout, style: a.stdoutStyle(), quiet: a.quiet} }

func (p *page) printf(format string, args ...any) {
	if p.err != nil {
		return
	}
	_, p.err = fmt.Fprintf(p.w, format, args...)
}

// outcome is the first line.
func (p *page) outcome(m mark, format string, args ...any) {
	p.printf("%s %s\n", p.style.mark(m), p.style.safe(fmt.Sprintf(format, args...)))
	p.begun = true
}

// gap separates blocks by one blank line, except before the first.
func (p *page) gap() {
	if p.begun {
		p.printf("\n")
	}
	p.begun = true
}

type field struct{ label, value string }

func (f field) empty() bool { return f.value == "" }

// section writes a title and its fields; fields without a value are left out, and so is a section without fields.
func (p *page) section(title string, fields ...field) { p.columns(title, 0, fields...) }

// columns is section with labels at least width wide.
func (p *page) columns(title string, width int, fields ...field) {
	fields = slices.DeleteFunc(fields, field.empty)
	if len(fields) == 0 {
		return
	}
	p.gap()
	if title != "" {
		p.printf("%s\n", p.style.bold(title))
	}
	p.fields(2, width, fields)
}

// fields writes a line for each that has a value, their labels at least width wide. On a terminal a long value goes on below itself, but a
// command is one piece, to be copied.
func (p *page) fields(indent, width int, fields []field) {
	fields = slices.DeleteFunc(fields, field.empty)
	for _, f := range fields {
		width = max(width, utf8.RuneCountInString(f.label))
	}
	for _, f := range fields {
		column := indent + width + 2
		value := []string{p.style.safe(f.value)}
		if !strings.HasPrefix(f.value, "ctx ") {
			value = p.broken(value[0], p.style.width-column)
		}
		pad := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(f.label)))
		p.printf("%*s%s%s  %s\n", indent, "", p.style.dim(f.label), pad, value[0])
		for _, more := range value[1:] {
			p.line(column, more)
		}
	}
}

// next lists commands or actions.
func (p *page) next(actions ...string) {
	if len(actions) == 0 {
		return
	}
	p.gap()
	p.printf("%s\n", p.style.bold("Next"))
	for _, action := range actions {
		p.printf("  %s\n", p.style.safe(action))
	}
}

// diagnostic is a warning with an optional action.
func (p *page) diagnostic(text, action string) {
	p.printf("%s %s\n", p.style.mark(markWarning), p.style.safe(text))
	if action != "" {
		p.printf("  %s\n", action)
	}
}

// table writes aligned columns; the last column is not padded.
func (p *page) table(head []string, rows [][]string) {
	width := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	p.gap()
	p.row(width, head, p.style.bold)
	for _, row := range rows {
		p.row(width, row, p.style.safe)
	}
}

func (p *page) row(width []int, cells []string, paint func(string) string) {
	var b bytes.Buffer
	for i, cell := range cells {
		b.WriteString(paint(cell))
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
		}
	}
	p.printf("%s\n", strings.TrimRight(b.String(), " "))
}

// count groups the digits of a number by thousands.
func count[T ~int | ~int64 | ~uint64 | ~uint32](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// plural returns "1 session", "2 sessions".
func plural[T ~int | ~int64 | ~uint64 | ~uint32](n T, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + one + "s"
}

// size shows bytes in the unit a person reads.
func size[T ~int | ~int64 | ~uint64](n T) string {
	units := [...]string{"B", "KB", "MB", "GB", "TB"}
	value, unit := float64(n), 0
	for value >= 1000 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// took shows a duration as a person would say it.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
