package claude

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// maxTitle is the longest title in characters.
const maxTitle = 200

// oneLine returns a text as a title: white space collapsed, trimmed, cut to maxTitle characters.
func oneLine(text []byte) string {
	var out []byte
	count, space := 0, false
	for len(text) > 0 && count < maxTitle {
		r, size := utf8.DecodeRune(text)
		if unicode.IsSpace(r) {
			space = len(out) > 0
			text = text[size:]
			continue
		}
		if space {
			out = append(out, ' ')
			count++
			space = false
			if count == maxTitle {
				break
			}
		}
		out = append(out, text[:size]...)
		text = text[size:]
		count++
	}
	return string(bytes.TrimSuffix(out, []byte(" ")))
}

// commandTitle returns a slash command as a person typed it: its name and its arguments.
func commandTitle(text []byte) string {
	name := bytes.TrimSpace(between(text, "<command-name>", "</command-name>"))
	if len(name) == 0 {
		return ""
	}
	title := make([]byte, 0, len(name)+1)
	if name[0] != '/' {
		title = append(title, '/')
	}
	title = append(title, name...)
	args := between(text, "<command-args>", "</command-args>")
	return oneLine(append(append(title, ' '), args...))
}

func between(text []byte, open, close string) []byte {
	_, rest, found := bytes.Cut(text, []byte(open))
	if !found {
		return nil
	}
	inside, _, found := bytes.Cut(rest, []byte(close))
	if !found {
		return nil
	}
	return inside
}

// titles collects everything that may become the title of a session.
type titles struct {
	custom    []string // given by the user: the last few different ones, the newest last
	worktrees []string // names of worktrees, which some builds write as custom titles
	ai        string   // the last one made by the model
	summaries []summaryTitle
	prompt    string // the first one typed by a person
	command   string // the first slash command
}

// summaryTitle is a summary and the record that it ends at, by its hash.
type summaryTitle struct {
	leaf  uint64
	title string
}

// How many candidates are kept. More than one custom title matters only while worktree names take the newest away.
const (
	maxCustomTitles = 4
	maxWorktrees    = 16
	maxSummaries    = 32
)

func (t *titles) addCustom(text []byte) {
	t.custom = keepLast(t.custom, oneLine(text), maxCustomTitles)
}

func (t *titles) addWorktree(name []byte) {
	t.worktrees = keepLast(t.worktrees, oneLine(name), maxWorktrees)
}

func (t *titles) addAI(text []byte) {
	if title := oneLine(text); title != "" {
		t.ai = title
	}
}

func (t *titles) addSummary(leaf, text []byte) {
	title := oneLine(text)
	if title == "" || len(leaf) == 0 {
		return
	}
	if len(t.summaries) == maxSummaries {
		t.summaries = append(t.summaries[:0], t.summaries[1:]...)
	}
	t.summaries = append(t.summaries, summaryTitle{hashOf(uuidDomain, leaf, 0), title})
}

// addTyped takes what a user typed: a prompt or a slash command, possibly behind reminders and editor context.
func (t *titles) addTyped(text []byte) {
	if t.prompt != "" {
		return
	}
	text = withoutSpans(text)
	switch classOf(text, text) {
	case plainText:
		t.prompt = oneLine(text)
	case commandText:
		if t.command == "" {
			t.command = commandTitle(text)
		}
	}
}

// keepLast makes a text the last of a list of different ones with at most limit entries.
func keepLast(list []string, text string, limit int) []string {
	if text == "" {
		return list
	}
	kept := list[:0]
	for _, old := range list {
		if old != text {
			kept = append(kept, old)
		}
	}
	if len(kept) == limit {
		kept = append(kept[:0], kept[1:]...)
	}
	return append(kept, text)
}

// pick returns the title: the user's own, that of the sidecar, the model's, a summary of this very session, what was typed
// first, the description an agent was started with. For agents the description comes before the prompt.
func (t *titles) pick(sidecar, description string, agent bool, uuids *hashSet) string {
	for i := len(t.custom) - 1; i >= 0; i-- {
		if !contains(t.worktrees, t.custom[i]) {
			return t.custom[i]
		}
	}
	if sidecar != "" {
		return sidecar
	}
	if t.ai != "" {
		return t.ai
	}
	for i := len(t.summaries) - 1; i >= 0; i-- {
		if uuids.has(t.summaries[i].leaf) {
			return t.summaries[i].title
		}
	}
	if agent && description != "" {
		return description
	}
	for _, title := range [...]string{t.prompt, t.command, description} {
		if title != "" {
			return title
		}
	}
	return ""
}

func contains(list []string, text string) bool {
	for _, s := range list {
		if s == text {
			return true
		}
	}
	return false
}
