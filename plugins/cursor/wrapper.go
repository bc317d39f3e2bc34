package cursor

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// Cursor wraps what a person typed into a tag, with context of its own before it.
var (
	queryOpen, queryClose = []byte("<user_query>"), []byte("</user_query>")
	redacted              = []byte("[REDACTED]")
	contextTags           = [][]byte{
		[]byte("<timestamp>"), []byte("<user_info>"), []byte("<open_and_recently_viewed_files>"), []byte("<attached_files>"),
		[]byte("<code_selection>"), []byte("<external_links>"), []byte("<system_reminder>"), []byte("<system-reminder>"),
		[]byte("<rules>"), []byte("<agent_skills>"), []byte("<git_status>"), []byte("<project_layout>"), []byte("<image_files>"),
		[]byte("[Image]"),
	}
)

// typed tells whether a text in a user's place is something a person typed, as against context that Cursor put in.
func typed(text []byte) bool {
	start := bytes.TrimLeft(text, " \t\r\n")
	if len(start) == 0 || start[0] != '<' && start[0] != '[' {
		return true
	}
	if bytes.Contains(start, queryOpen) {
		return true
	}
	for _, tag := range contextTags {
		if bytes.HasPrefix(start, tag) {
			return false
		}
	}
	return true
}

// contextOf returns what stands before the typed part of a text, all of it when there is no such part.
func contextOf(text []byte) []byte {
	before, _, found := bytes.Cut(text, queryOpen)
	if !found && typed(text) {
		return nil
	}
	return before
}

// promptTitle returns what was typed, as a title.
func promptTitle(text []byte) string {
	if _, inside, found := bytes.Cut(text, queryOpen); found {
		if end := bytes.LastIndex(inside, queryClose); end >= 0 {
			inside = inside[:end]
		}
		text = bytes.ReplaceAll(bytes.ReplaceAll(inside, queryOpen, nil), queryClose, nil)
	}
	return texts.OneLine(text)
}

// workspacePath returns the directory that the context of a text names.
func workspacePath(text []byte) string {
	_, rest, found := bytes.Cut(texts.Between(text, "<user_info>", "</user_info>"), []byte("Workspace Path:"))
	if !found {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(bytes.TrimSpace(line))
}

// tagTime is the time that a context states, with its zone if it names one.
type tagTime struct {
	at    time.Time // in the local zone unless zoned
	zoned bool
}

var (
	zonePattern = regexp.MustCompile(`\s*\(?UTC(?:([+-])(\d{1,2})(?::?(\d{2}))?)?\)?$`)
	tagLayouts  = []string{"January 2, 2006, 3:04 PM", "January 2, 2006 3:04 PM", "January 2, 2006, 3:04:05 PM", "January 2, 2006, 15:04"}
)

// tagTimeOf reads the timestamp tag of a context: `Tuesday, Jul 28, 2026, 12:06 PM (UTC+2)`.
func tagTimeOf(text []byte) (t tagTime, ok bool) {
	stated := string(bytes.TrimSpace(texts.Between(text, "<timestamp>", "</timestamp>")))
	if stated == "" || len(stated) > 128 {
		return t, false
	}
	zone := time.Local
	if m := zonePattern.FindStringSubmatch(stated); m != nil {
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		if hours > 14 || minutes > 59 {
			return t, false
		}
		offset := hours*3600 + minutes*60
		if m[1] == "-" {
			offset = -offset
		}
		zone, t.zoned = time.FixedZone("", offset), true
		stated = stated[:len(stated)-len(m[0])]
	}
	if parsed, ok := texts.ParseTime([]byte(stated)); ok && !t.zoned {
		return tagTime{parsed, true}, true
	}
	// The day of the week says nothing new.
	if day, rest, found := strings.Cut(stated, ", "); found && strings.HasSuffix(day, "day") {
		stated = rest
	}
	for _, layout := range tagLayouts {
		for _, l := range [...]string{layout, strings.Replace(layout, "January", "Jan", 1)} {
			if parsed, err := time.ParseInLocation(l, stated, zone); err == nil {
				t.at = parsed
				return t, true
			}
		}
	}
	return t, false
}
