package cli

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/rivo/uniseg"
)

// Bounds of recorded text on a terminal.
const (
	proseWidth = 100 // columns; longer lines are hard to follow
	foldLines  = 12  // lines that are left of a long output
	foldSlack  = 4   // so few lines more are not worth a fold
)

// body writes recorded prose indented. On a terminal it is wrapped under its list items; headings are bold, and fenced code stays as it
// stands.
func (p *page) body(indent int, text string) {
	var code fence
	for line := range strings.SplitSeq(strings.TrimRight(p.style.safe(text), "\n"), "\n") {
		pieces, paint := []string{line}, func(s string) string { return s }
		if p.style.terminal && !code.holds(line) {
			pieces = p.wrap(strings.ReplaceAll(line, "\t", "    "), indent)
			if heading.MatchString(line) {
				paint = p.style.bold
			}
		}
		for _, piece := range pieces {
			p.line(indent, paint(piece))
		}
	}
}

func (p *page) line(indent int, text string) {
	p.printf("%s\n", strings.TrimRight(strings.Repeat(" ", indent)+text, " "))
}

// output writes on a terminal what a tool was given or gave: dimmed, and folded unless whole. command shows all of it.
func (p *page) output(indent int, text string, whole bool, command string) (folded bool) {
	text = strings.ReplaceAll(strings.Trim(p.style.safe(text), "\n"), "\t", "    ")
	if strings.TrimSpace(text) == "" {
		return false
	}
	most := foldLines
	if whole {
		most = math.MaxInt
	}
	width := p.style.width
	if width == 0 {
		width = 80 // a terminal that does not say
	}
	kept, more := fold(text, max(20, width-indent), most)
	for _, line := range kept {
		p.line(indent, p.style.dim(line))
	}
	if more > 0 {
		p.line(indent, fmt.Sprintf("… %s (%s): %s", plural(more, "more line"), size(len(text)), command))
	}
	return more > 0
}

// fold breaks a text into lines of width columns, as a terminal would, and keeps the first ones when there are clearly more than most.
// more is the number of lines of the text that are missing.
func fold(text string, width, most int) (kept []string, more int) {
	lines := strings.Split(text, "\n")
	whole := 0 // lines of the text among the first ones
	for i, line := range lines {
		for {
			cut := columns(line, width)
			if at := strings.LastIndexByte(line[:cut], ' ') + 1; cut < len(line) && at > width/2 {
				cut = at
			}
			kept = append(kept, line[:cut])
			if most < math.MaxInt && len(kept) > most+foldSlack {
				return kept[:most], len(lines) - whole
			}
			if line = line[cut:]; line == "" {
				break
			}
		}
		if len(kept) <= most {
			whole = i + 1
		}
	}
	return kept, 0
}

// columns returns how many bytes of a line fill width columns.
func columns(line string, width int) int {
	rest, state, used := line, -1, 0
	for rest != "" {
		_, after, wide, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if used += wide; used > width && len(rest) < len(line) {
			break
		}
		rest, state = after, next
	}
	return len(line) - len(rest)
}

// listMark is the indentation of a line with the mark of a list item or a quotation, under which the item is wrapped.
var listMark = regexp.MustCompile(`^[ \t]*(?:(?:[-*+•>]|\d{1,3}[.)]) +)*`)

// wrap breaks a line at spaces to the width of the terminal, under the text of its list item; a word longer than the line stays whole.
func (p *page) wrap(line string, indent int) []string {
	return p.broken(line, min(p.style.width-indent, proseWidth))
}

// broken is wrap to a width; lines of few columns, and those of no terminal, are not broken.
func (p *page) broken(line string, width int) []string {
	if p.style.width == 0 || width < 20 {
		return []string{line}
	}
	hang := strings.Repeat(" ", min(width/2, uniseg.StringWidth(listMark.FindString(line))))
	var lines []string
	for prefix := ""; ; prefix = hang {
		cut := breakAt(line, width-len(prefix))
		lines = append(lines, prefix+line[:cut])
		if line = strings.TrimLeft(line[cut:], " "); line == "" {
			return lines
		}
	}
}

// breakAt returns where a line of at most width columns ends: at its last space, or between wide characters, which stand without
// spaces. A longer word stays whole.
func breakAt(line string, width int) int {
	at, used, state, text := 0, 0, -1, false
	for rest := line; rest != ""; {
		cluster, after, wide, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if text && (cluster == " " || wide > 1) {
			if here := len(line) - len(rest); used <= width {
				at = here
			} else if at == 0 {
				return here
			}
		}
		if used += wide; used > width && at > 0 {
			return at
		}
		text = text || cluster != " "
		rest, state = after, next
	}
	return len(line)
}
