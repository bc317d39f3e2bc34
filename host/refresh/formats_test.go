package refresh

import (
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// TestFormatsOf: a source may be given under the name of its format or under the leaf; both are stored as the leaf.
func TestFormatsOf(t *testing.T) {
	formats := formatsOf(&historyv1.DescribeResponse{ParserRevision: "r", Formats: []*historyv1.Format{
		{Name: "tree", Leaf: "leaf", SchemaVariant: "v0"}, {Name: "old", Leaf: "leaf", SchemaVariant: "v-old"}, {Name: "alone", SchemaVariant: "v1"},
	}})
	for name, want := range map[string][2]string{
		"tree": {"leaf", "v0"}, "leaf": {"leaf", "v0"}, "old": {"leaf", "v-old"}, "alone": {"alone", "v1"},
	} {
		if f := formats[name]; f == nil || f.leaf != want[0] || f.variant != want[1] || f.revision != "r" {
			t.Errorf("%s is %+v, want %v", name, f, want)
		}
	}
}
