// Package htmlpage writes a transcript as one self-contained HTML file: readable without a network or a script, with an outline,
// a search within the page, and a light and a dark form.
//
// The text of a session is hostile until proven otherwise. Prose is rendered from a Markdown that knows no HTML, everything else is
// escaped, and the page's own policy lets nothing load and no script run but the one whose digest it names.
package htmlpage

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"

	"github.com/agenthistory/ctx/host/internal/onscreen"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

const (
	outlineRunes = 90      // of a prompt in the outline
	summaryRunes = 160     // of a folded event
	openLines    = 6       // a result of at most so many lines is not folded
	proseBytes   = 1 << 20 // longer prose is shown as it stands
)

// Field is one line of the head.
type Field struct{ Name, Value string }

// Head is what stands above the events.
type Head struct {
	Title  string
	Fields []Field // those without a value are left out
}

// Event is one event of the transcript. Texts are shown as they are.
type Event struct {
	ID, Role, Type string
	Time           string // RFC 3339; "" = not known
	Label          string // tool or state; "" = none
	Tool           bool   // what a tool was given or gave, as it stands, folded when it is long; else prose in Markdown
	Text           string
}

// prompt tells what goes into the outline.
func (e *Event) prompt() bool { return e.Type == "message" && e.Role == "user" }

// markdown renders prose. It knows no HTML: a tag in a text is a part of that text, and shown.
var markdown = goldmark.New(goldmark.WithParser(parser.NewParser(
	parser.WithBlockParsers(without(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
	parser.WithInlineParsers(without(parser.DefaultInlineParsers(), parser.NewRawHTMLParser())...),
	parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
)), goldmark.WithExtensions(extension.Table, extension.Strikethrough))

func without(all []util.PrioritizedValue, one any) []util.PrioritizedValue {
	return slices.DeleteFunc(all, func(v util.PrioritizedValue) bool { return v.Value == one })
}

// tags are the marks that agents put around parts of a prompt. The outline does without them.
var tags = regexp.MustCompile(`</?[a-z][a-z-]*>`)

// Write writes the page while it reads events: next gives nil after the last one. cut says that there would be more.
func Write(w io.Writer, head Head, next func() (*Event, error), cut func() string) error {
	p := &page{w: w}
	p.head(head)
	var outline []string
	for n := 1; p.err == nil; n++ {
		e, err := next()
		if err != nil {
			return err
		}
		if e == nil {
			break
		}
		p.event(n, e)
		if e.prompt() {
			outline = append(outline, fmt.Sprintf("<li><a href=\"#e%d\">%s</a></li>\n", n, plain(firstLine(tags.ReplaceAllString(e.Text, ""), outlineRunes))))
		}
	}
	if note := cut(); note != "" {
		p.printf("<p><strong>%s</strong></p>\n", plain(note))
	}
	p.print("</main>\n")
	p.outline(outline)
	p.printf("<script>%s</script>\n</body>\n</html>\n", script)
	return p.err
}

// plain is recorded text as it may stand in the page. Controls are shown: the page may be printed on a terminal, and what turns the
// direction of writing must not hide anything in a browser either.
func plain(text string) string { return html.EscapeString(onscreen.Escape(text)) }

type page struct {
	w   io.Writer
	err error
}

func (p *page) print(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

func (p *page) printf(format string, args ...any) { p.print(fmt.Sprintf(format, args...)) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (p *page) head(h Head) {
	title := plain(h.Title)
	p.print("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	p.printf("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src %s; script-src %s; form-action 'none'; base-uri 'none'\">\n",
		digest(style), digest(script))
	p.printf("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>%s</title>\n", title)
	p.printf("<style>%s</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#transcript\">To the transcript</a>\n<header>\n<h1>%s</h1>\n<dl>\n", style, title)
	for _, f := range h.Fields {
		if f.Value != "" {
			p.printf("<div><dt>%s</dt><dd>%s</dd></div>\n", plain(f.Name), plain(f.Value))
		}
	}
	p.print("</dl>\n</header>\n<main id=\"transcript\" tabindex=\"-1\">\n")
}

func (p *page) event(n int, e *Event) {
	class := "note"
	switch {
	case e.Tool:
		class = "tool"
	case e.Type == "message":
		class = e.Role
	}
	p.printf("<article id=\"e%d\" class=\"%s\" aria-labelledby=\"h%d\">\n<header><h2 id=\"h%d\">%s</h2>", n, plain(class), n, n, plain(name(e)))
	if e.Time != "" {
		p.printf("<time datetime=\"%[1]s\">%[1]s</time>", plain(e.Time))
	}
	p.printf("<code>%s</code><a href=\"#e%d\" aria-label=\"Link to event %d\">#</a></header>\n", plain(e.ID), n, n)
	switch {
	case strings.TrimSpace(e.Text) == "":
	case e.Tool:
		p.folded(e)
	case len(e.Text) > proseBytes:
		p.printf("<pre>%s</pre>\n", plain(e.Text))
	default:
		p.prose(e.Text)
	}
	p.print("</article>\n")
}

func name(e *Event) string {
	text := e.Role
	if e.Type != "message" {
		text = strings.ReplaceAll(e.Type, "_", " ")
	}
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

func (p *page) folded(e *Event) {
	open := ""
	if strings.Count(e.Text, "\n") < openLines && len(e.Text) < openLines*200 {
		open = " open"
	}
	line := firstLine(e.Text, summaryRunes)
	if e.Label != "" {
		line = e.Label
	}
	p.printf("<details%s><summary>%s</summary><pre>%s</pre></details>\n", open, plain(line), plain(e.Text))
}

func (p *page) prose(text string) {
	var b bytes.Buffer
	if err := markdown.Convert([]byte(onscreen.Escape(text)), &b); err != nil {
		p.printf("<pre>%s</pre>\n", plain(text))
		return
	}
	p.printf("<div class=\"prose\">%s</div>\n", b.String())
}

func (p *page) outline(items []string) {
	p.print("<nav aria-label=\"Outline and search\">\n<label for=\"find\">Search in this page</label>\n<input id=\"find\" type=\"search\" autocomplete=\"off\">\n" +
		"<output id=\"found\" for=\"find\"></output>\n<button id=\"theme\" type=\"button\">Light or dark</button>\n")
	if len(items) > 0 {
		p.printf("<h2>Outline</h2>\n<ol>\n%s</ol>\n", strings.Join(items, ""))
	}
	p.print("</nav>\n")
}

// firstLine is the first line of a text that is not blank, cut to a number of characters.
func firstLine(text string, most int) string {
	text = strings.TrimSpace(text)
	text, _, _ = strings.Cut(text, "\n")
	return onscreen.Clip(text, most)
}
