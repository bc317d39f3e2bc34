package pluginhost

import (
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Bounds of a description and of what Resolve answers; none of the delivered providers comes near them.
const (
	mostFormats = 64
	mostNames   = 256 // elements of any list
	mostIssues  = 64
	longestText = 4 << 10
)

// checkDescription checks what a plugin says about itself. Strings are UTF-8 already: protobuf refuses others.
func checkDescription(d *historyv1.DescribeResponse) error {
	other := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' }
	switch id := d.GetId(); {
	case id == "" || len(id) > sdkplugin.MaxProviderID:
		return brokenf("a provider id of %d bytes", len(id))
	case strings.ContainsFunc(id, other):
		return brokenf("a provider id with other characters than lower case, digits and '_'")
	case d.GetCliName() == "" || d.GetParserRevision() == "":
		return brokenf("a description without name or parser revision")
	}
	for _, name := range d.GetEnvironment() {
		if name == "" || strings.Contains(name, "=") {
			return brokenf("a variable that can not exist")
		}
	}
	if err := checkTexts(d.ProtoReflect()); err != nil {
		return err
	}
	formats, err := checkFormats(d.GetFormats())
	if err != nil {
		return err
	}
	for _, child := range d.GetRoot().GetChildren() {
		if !formats[child.GetFormat()] || !cleanSuffix(child.GetSuffix()) {
			return brokenf("a root child of an undeclared format, or one that leaves its root")
		}
	}
	for _, l := range d.GetLocations() {
		switch {
		case !formats[l.GetFormat()]:
			return brokenf("a location of an undeclared format")
		case l.GetEnv() == "" && l.GetBase() == historyv1.Base_BASE_UNSPECIFIED:
			return brokenf("a location without variable and base")
		case !cleanSuffix(l.GetSuffix()):
			return brokenf("a suffix that leaves its base")
		case !boundedProbe(l.GetProbe()):
			return brokenf("a probe beyond its bounds")
		}
	}
	for _, rule := range d.GetExactPaths() {
		if rule.GetFormat() != "" && !formats[rule.GetFormat()] {
			return brokenf("a path rule of an undeclared format")
		}
	}
	return nil
}

func checkFormats(formats []*historyv1.Format) (map[string]bool, error) {
	if len(formats) == 0 || len(formats) > mostFormats {
		return nil, brokenf("%d formats", len(formats))
	}
	names := make(map[string]bool, len(formats))
	for _, f := range formats {
		if f.GetName() == "" || names[f.GetName()] {
			return nil, brokenf("a format without a name of its own")
		}
		names[f.GetName()] = true
		if n := max(len(f.GetName()), len(f.GetLeaf()), len(f.GetSchemaVariant()), len(f.GetParserRevision())); n > sdkplugin.MaxLabel {
			return nil, brokenf("a format label of %d bytes", n)
		}
	}
	return names, nil
}

func boundedProbe(probe *historyv1.Probe) bool {
	return probe.GetMaxDepth() <= 64 && probe.GetMaxEntries() <= 10_000
}

// cleanSuffix tells whether a declared place stays below its base.
func cleanSuffix(suffix string) bool {
	return sdkplugin.ValidLocator(strings.TrimSuffix(suffix, "/"))
}

func checkResolved(r *historyv1.ResolveResponse) error {
	if len(r.GetIssues()) > mostIssues {
		return brokenf("%d issues", len(r.GetIssues()))
	}
	for _, c := range r.GetCandidates() {
		if !filepath.IsAbs(c.GetPath()) || !boundedPath(c.GetPath()) || !boundedProbe(c.GetProbe()) {
			return brokenf("a candidate that is no absolute path, or with a probe beyond its bounds")
		}
	}
	for _, i := range r.GetIssues() {
		if len(i.GetMessage()) > sdkplugin.MaxMessage || !boundedPath(i.GetPath()) {
			return brokenf("an issue beyond its bounds")
		}
	}
	return checkTexts(r.ProtoReflect())
}

func boundedPath(path string) bool {
	return len(path) <= sdkplugin.MaxLocator && !strings.ContainsRune(path, 0)
}

// checkTexts goes through a message and what it holds: lists have their bounds, texts too, and no control characters. Paths and
// locators may hold anything; they have rules of their own.
func checkTexts(m protoreflect.Message) (err error) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() || f.Name() == "path" || f.Name() == "locator":
		case f.IsList():
			list := v.List()
			if list.Len() > mostNames {
				err = brokenf("a list of %d", list.Len())
			}
			for i := 0; i < list.Len() && err == nil; i++ {
				err = checkText(f, list.Get(i))
			}
		default:
			err = checkText(f, v)
		}
		return err == nil
	})
	return err
}

func checkText(f protoreflect.FieldDescriptor, v protoreflect.Value) error {
	switch {
	case f.Kind() == protoreflect.MessageKind:
		return checkTexts(v.Message())
	case f.Kind() != protoreflect.StringKind:
	case len(v.String()) > longestText:
		return brokenf("a text of %d bytes", len(v.String()))
	case strings.ContainsFunc(v.String(), func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return brokenf("a text with control characters")
	}
	return nil
}
