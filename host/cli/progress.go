package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agenthistory/ctx/host/daemon"
	"github.com/agenthistory/ctx/host/internal/onscreen"
	"github.com/agenthistory/ctx/host/refresh"
)

// progressSink returns what shows the progress of a refresh on stderr, and a function that ends the display; nil when nobody
// wants to see it. auto is a bar on a terminal and silence elsewhere and beside JSON.
func (a *App) progressSink(mode string) (sink func(daemon.Progress), end func()) {
	style := a.stderrStyle()
	switch {
	case mode == "json":
		return func(p daemon.Progress) { _ = writeLine(a.Stderr, p) }, func() {}
	case mode == "plain":
		lines := &progressLines{w: a.Stderr}
		return func(p daemon.Progress) { lines.show(p.Progress) }, func() {}
	case mode == "auto" && style.terminal && a.format != "json" && !a.quiet:
		bar := &progressBar{w: a.Stderr, style: style}
		return func(p daemon.Progress) { bar.show(p.Progress) }, bar.end
	}
	return nil, func() {}
}

// progressLines writes a line when the stage changes and every two seconds between.
type progressLines struct {
	w     io.Writer
	stage string
	next  time.Duration
}

func (l *progressLines) show(p refresh.Progress) {
	elapsed := time.Duration(p.ElapsedMillis) * time.Millisecond
	if p.Stage == l.stage && elapsed < l.next && !p.Done {
		return
	}
	l.stage, l.next = p.Stage, elapsed+2*time.Second
	fmt.Fprintln(l.w, joinNonEmpty(": ", stageName(p.Stage), strings.Join(progressParts(p), ", ")))
}

func progressParts(p refresh.Progress) []string {
	var percent, bytes, sources string
	if p.TotalBytes > 0 {
		percent, bytes = percentOf(p), size(p.CompletedBytes)+" of "+size(p.TotalBytes)
	}
	if p.TotalSources > 0 {
		sources = fmt.Sprintf("%s of %s", count(p.CompletedSource), plural(p.TotalSources, "source"))
	}
	return nonEmpty(percent, rateOf(p), leftOf(p), bytes, sources)
}

// percentOf stays below 100 until everything is published.
func percentOf(p refresh.Progress) string {
	percent := int(p.Percent)
	if !p.Done {
		percent = min(percent, 99)
	}
	return fmt.Sprintf("%d %%", percent)
}

func leftOf(p refresh.Progress) string {
	if p.RemainingMillis == nil || p.Done || p.Stage != refresh.StageReading {
		return ""
	}
	left := time.Duration(*p.RemainingMillis) * time.Millisecond
	if left < time.Second {
		return "under 1 s left"
	}
	return "about " + took(left) + " left"
}

func rateOf(p refresh.Progress) string {
	if p.CompletedBytes == 0 || p.ElapsedMillis < 200 {
		return ""
	}
	return size(p.CompletedBytes*1000/p.ElapsedMillis) + "/s"
}

func stageName(stage string) string {
	if stage == "" {
		return "Working"
	}
	words := strings.ReplaceAll(stage, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// progressBar redraws one line: bar, share, rate, time left, the source that is read now.
type progressBar struct {
	w     io.Writer
	style style
	drawn bool
}

const barCells = 24

func (b *progressBar) show(p refresh.Progress) {
	what := strings.ToLower(stageName(p.Stage))
	if p.Stage == refresh.StageReading && p.CurrentSource != nil {
		what = shortSource(*p.CurrentSource)
	}
	// The most telling parts come first; what does not fit is left out whole.
	line, room := b.cells(p.Percent), b.style.width-1-barCells
	if room < 0 {
		line, room = "", b.style.width-1
	}
	for _, part := range append([]string{what}, progressParts(p)...) {
		if room -= utf8.RuneCountInString(part) + 2; room < 0 {
			break
		}
		line += "  " + part
	}
	fmt.Fprint(b.w, "\r\x1b[K"+line)
	b.drawn = true
}

// shortSource is the last part of a source's name, cut to what leaves room for figures.
func shortSource(name string) string {
	const most = 24
	name = oneLine(name)
	return onscreen.Clip(name[strings.LastIndexAny(name, "/\\")+1:], most-1)
}

func (b *progressBar) cells(percent float64) string {
	full := min(barCells, max(0, int(percent/100*barCells+0.5)))
	done, open := "#", "."
	if b.style.unicode {
		done, open = "█", "░"
	}
	return b.style.paint("32", strings.Repeat(done, full)) + b.style.dim(strings.Repeat(open, barCells-full))
}

// end takes the bar away: the result follows on stdout.
func (b *progressBar) end() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.drawn = false
	}
}
