// Package docs is the documentation for users, embedded in the program: `ctx docs` reads what this folder shows.
//
// A *topic* is one page with an id; its file is <id>.md. The pages are ordinary Markdown; title, audience, summary and tags stand
// in the table below, so that the files hold nothing but text.
package docs

import (
	"bytes"
	"cmp"
	"embed"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed *.md
var pages embed.FS

// manual holds the manual pages, made from the commands by a test: the library that makes them costs every start half a millisecond.
//
//go:embed man.txtar
var manual []byte

// ManVersion stands in the manual pages for the version of the program.
const ManVersion = "@VERSION@"

// Manual returns the manual pages by file name, such as ctx-search.1.
func Manual(version string) map[string][]byte {
	all := map[string][]byte{}
	for _, f := range txtar.Parse(manual).Files {
		all[f.Name] = bytes.ReplaceAll(f.Data, []byte(ManVersion), []byte(version))
	}
	return all
}

// Topic describes one page.
type Topic struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Audience   string   `json:"audience"` // users, agents or developers
	Summary    string   `json:"summary"`
	Tags       []string `json:"tags"`
	SourcePath string   `json:"source_path"`
}

// Found is a topic that a search found. A higher score is better.
type Found struct {
	Topic
	Score int `json:"score"`
}

// Topics lists all pages, in reading order.
func Topics() []Topic { return slices.Clone(topics) }

// Show returns a topic and its Markdown text.
func Show(id string) (topic Topic, body string, found bool) {
	for _, t := range topics {
		if t.ID == id {
			text, err := pages.ReadFile(id + ".md")
			return t, string(text), err == nil
		}
	}
	return Topic{}, "", false
}

const (
	shortestTerm = 3    // bytes of a word that counts
	exactBonus   = 1000 // for a query that is an id, a title or a tag
)

// Search ranks the pages by how often the words of a query occur in them. A page must hold two occurrences, or one a word when
// there are more words.
func Search(query string, limit int) []Found {
	query = strings.ToLower(strings.TrimSpace(query))
	var terms []string
	for _, word := range strings.Fields(query) {
		if len(word) >= shortestTerm {
			terms = append(terms, word)
		}
	}
	found := []Found{}
	for _, t := range topics {
		_, body, _ := Show(t.ID)
		text := strings.ToLower(strings.Join([]string{t.ID, t.Title, t.Summary, body}, "\n"))
		score := 0
		for _, term := range terms {
			score += strings.Count(text, term)
		}
		if query == t.ID || query == strings.ToLower(t.Title) || slices.Contains(t.Tags, query) {
			score += exactBonus
		}
		if score >= max(2, len(terms)) {
			found = append(found, Found{Topic: t, Score: score})
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	return found[:min(limit, len(found))]
}

// Near returns the ids that look most like an unknown one.
func Near(id string) []string {
	var near []string
	for _, t := range topics {
		for _, part := range strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return r == '-' || r == '_' || r == ' ' }) {
			if len(part) >= shortestTerm && strings.Contains(t.ID, part) && len(near) < 3 {
				near = append(near, t.ID)
				break
			}
		}
	}
	return near
}
