package claude

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin/texts"
)

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
	return texts.OneLine(append(append(title, ' '), args...))
}

func between(text []byte, open, close string) []byte {
	_, rest, _ := bytes.Cut(text, []byte(open))
	inside, _, found := bytes.Cut(rest, []byte(close))
	if !found {
		return nil
	}
	return inside
}

// titles collects everything that may become the title of a session.
type titles struct {
	Custom    []string // given by the user: the last few different ones, the newest last
	Worktrees []string // names of worktrees, which some builds write as custom titles
	AI        string   // the last one made by the model
	Summaries []summaryTitle
	Prompt    string // the first one typed by a person
	Command   string // the first slash command
}

// summaryTitle is a summary and the record that it ends at. Own: the record is one of the file.
type summaryTitle struct {
	Leaf  fingerprint
	Title string
	Own   bool
}

// How many candidates are kept. More than one custom title matters only while worktree names take the newest away.
const (
	maxCustomTitles = 4
	maxWorktrees    = 16
	maxSummaries    = 32
)

func (t *titles) addCustom(text []byte) {
	t.Custom = keepLast(t.Custom, texts.OneLine(text), maxCustomTitles)
}

func (t *titles) addWorktree(name []byte) {
	t.Worktrees = keepLast(t.Worktrees, texts.OneLine(name), maxWorktrees)
}

func (t *titles) addAI(text []byte) {
	if title := texts.OneLine(text); title != "" {
		t.AI = title
	}
}

func (t *titles) addSummary(leaf, text []byte) {
	title := texts.OneLine(text)
	if title == "" || len(leaf) == 0 {
		return
	}
	t.Summaries = append(t.Summaries[max(0, len(t.Summaries)-maxSummaries+1):], summaryTitle{Leaf: fingerprintOf(leaf), Title: title})
}

// addTyped takes what a user typed: a prompt or a slash command, possibly behind reminders and editor context.
func (t *titles) addTyped(text []byte) {
	if t.Prompt != "" {
		return
	}
	text = withoutSpans(text)
	switch classOf(text, text) {
	case plainText:
		t.Prompt = texts.OneLine(text)
	case commandText:
		if t.Command == "" {
			t.Command = commandTitle(text)
		}
	}
}

// keepLast makes a text the last of a list of different ones with at most limit entries.
func keepLast(list []string, text string, limit int) []string {
	if text == "" {
		return list
	}
	list = slices.DeleteFunc(list, func(old string) bool { return old == text })
	return append(list[max(0, len(list)-limit+1):], text)
}

// pick returns the title: the user's own, that of the sidecar, the model's, a summary of this very session, what was typed
// first, the description an agent was started with. For agents the description comes before the prompt.
func (t *titles) pick(sidecar, description string, agent bool) string {
	for _, title := range slices.Backward(t.Custom) {
		if !slices.Contains(t.Worktrees, title) {
			return title
		}
	}
	summary, first := "", ""
	for _, s := range t.Summaries {
		if s.Own {
			summary = s.Title
		}
	}
	if agent {
		first = description
	}
	return cmp.Or(sidecar, t.AI, summary, first, t.Prompt, t.Command, description)
}
