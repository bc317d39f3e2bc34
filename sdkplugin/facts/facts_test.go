package facts

import (
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

func TestTable(t *testing.T) {
	table := NewTable(map[sdkplugin.FactKind][]string{sdkplugin.FactFile: {"file", "path"}, sdkplugin.FactCommand: {"cmd"}})
	file, ok := table.Look([]byte("file"))
	path, both := table.Look([]byte("path"))
	if !ok || !both || file.Kind != sdkplugin.FactFile || file.Bit&path.Bit != 0 || file.Bit|path.Bit == 0 {
		t.Errorf("%+v, %+v", file, path)
	}
	for _, name := range []string{"", "File", "filename"} {
		if _, ok := table.Look([]byte(name)); ok {
			t.Errorf("%q is recognised", name)
		}
	}
}

func TestCollector(t *testing.T) {
	var doc canonical.Doc
	if err := doc.Parse([]byte(`["a",1,"","b"]`)); err != nil {
		t.Fatal(err)
	}
	var c Collector
	c.Add(sdkplugin.FactBranch, []byte("main"))
	c.EndBase()
	c.AddValue(sdkplugin.FactFile, doc.Root())
	c.AddValue(sdkplugin.FactFile, doc.Root().Elem(0))
	c.Add(sdkplugin.FactFile, []byte(strings.Repeat("x", sdkplugin.MaxFileFact+1)))
	c.Add(sdkplugin.FactCommand, []byte(strings.Repeat("x", sdkplugin.MaxString+1)))
	if len(c.List) != 4 || c.List[3].Value != "a" {
		t.Errorf("%+v", c.List)
	}
	for range sdkplugin.MaxFacts {
		c.Add(sdkplugin.FactFile, []byte("more"))
	}
	if c.Settle(); len(c.List) != 1 || c.List[0].Value != "main" {
		t.Errorf("%d facts, want those of the base", len(c.List))
	}
	if c.Reset(); len(c.List) != 0 || c.Base != 0 {
		t.Errorf("%+v", c)
	}
}
