package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The table and the folder name the same pages.
func TestEveryPageIsATopic(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, topic := range Topics() {
		ids = append(ids, topic.ID+".md")
		if topic.Title == "" || topic.Summary == "" || len(topic.Tags) == 0 || topic.SourcePath != "docs/"+topic.ID+".md" {
			t.Errorf("%+v", topic)
		}
	}
	slices.Sort(ids)
	slices.Sort(files)
	if !slices.Equal(ids, files) {
		t.Errorf("topics %v\nfiles %v", ids, files)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(text), "\n") {
			t.Errorf("%s: %v, or its last line is not complete", file, err)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		query string
		limit int
		first string // "" = nothing is found
	}{
		{"limitations", 3, "limitations"},
		{"The MCP server", 3, "mcp"},
		{"skills", 3, "agent-skill-install"},
		{"forget prune gone", 3, "retention"},
		{"xylophone", 3, ""},
		{"", 3, ""},
		{"of to", 3, ""},
	} {
		found := Search(tc.query, tc.limit)
		switch {
		case tc.first == "" && len(found) == 0:
		case len(found) == 0 || found[0].ID != tc.first || len(found) > tc.limit:
			t.Errorf("%q: %+v, want %s first", tc.query, found, tc.first)
		}
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	if near := Near("mcp-integration"); !slices.Contains(near, "mcp-integrations") {
		t.Errorf("%v", near)
	}
	if near := Near("zz"); len(near) != 0 {
		t.Errorf("%v", near)
	}
}
