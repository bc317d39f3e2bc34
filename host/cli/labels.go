package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/agenthistory/ctx/host/lineage"
)

// titleGraphemes is the most of a title that text output shows.
const titleGraphemes = 80

// activityGraphemes is the most of an activity that stands beside an event on a terminal.
const activityGraphemes = 50

// goneMark is how text output marks records whose source was deleted.
const goneMark = "source no longer on disk"

// goneNote is the mark of what is gone, "" for the rest.
func goneNote(state string) string {
	if state == "gone" {
		return goneMark
	}
	return ""
}

func sessionLabel(id, title, state string) string {
	label := joinNonEmpty(" · ", id, clipGraphemes(oneLine(title), titleGraphemes))
	if state == "gone" {
		label += " (" + goneMark + ")"
	}
	return label
}

// clipGraphemes cuts a text to n grapheme clusters, the last of which is an ellipsis then.
func clipGraphemes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	g, kept := uniseg.NewGraphemes(text), 0
	for seen := 1; g.Next(); seen++ {
		if seen > n {
			return strings.TrimRight(text[:kept], " ") + "…"
		}
		if seen < n {
			_, kept = g.Positions()
		}
	}
	return text
}

func joinNonEmpty(separator string, parts ...string) string {
	return strings.Join(nonEmpty(parts...), separator)
}

func nonEmpty(parts ...string) []string {
	return slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" })
}

// lineageText says in one line how an event and its copies hang together; "" when there is nothing to say.
func lineageText(report *lineage.Report) string {
	if report == nil || report.SelectedDepth == 0 && report.ObservedCount == 0 {
		return ""
	}
	var parts []string
	if report.SelectedDepth > 0 {
		parts = append(parts, fmt.Sprintf("a copy, %s, %s", plural(report.SelectedDepth, "step")+" from its origin", report.Resolution.State))
	}
	if report.ObservedCount > 0 {
		parts = append(parts, "copies of it stored: "+count(report.ObservedCount))
	}
	return strings.Join(parts, "; ")
}
