package pluginhost

import (
	"path/filepath"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Bounds of a description; none of the delivered providers comes near them.
const (
	mostFormats   = 64
	mostLocations = 256
	mostNames     = 256 // aliases, variables, children, rules and other short lists
	longestText   = 4 << 10
)

// checkDescription checks what a plugin says about itself. Strings are UTF-8 already: protobuf refuses others.
func checkDescription(d *historyv1.DescribeResponse) error {
	if err := checkProviderID(d.GetId()); err != nil {
		return err
	}
	texts := []string{d.GetCliName(), d.GetDisplayName(), d.GetVersion(), d.GetSdkVersion(), d.GetParserRevision()}
	texts = append(append(texts, d.GetAliases()...), d.GetEnvironment()...)
	if d.GetCliName() == "" || d.GetParserRevision() == "" {
		return brokenf("a description without name or parser revision")
	}
	if len(texts) > 2*mostNames || len(d.GetExactPaths()) > mostNames {
		return brokenf("a description with too many names")
	}
	for _, name := range d.GetEnvironment() {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return brokenf("a variable that can not exist")
		}
	}
	formats, err := checkFormats(d.GetFormats())
	if err != nil {
		return err
	}
	if err := checkRoot(d.GetRoot(), formats); err != nil {
		return err
	}
	if err := checkLocations(d.GetLocations(), formats); err != nil {
		return err
	}
	for _, rule := range d.GetExactPaths() {
		if rule.GetFormat() != "" && !formats[rule.GetFormat()] {
			return brokenf("a path rule of an undeclared format")
		}
		texts = append(texts, rule.GetNameGlob(), rule.GetSuffix(), rule.GetRole())
	}
	if len(d.GetResume().GetArgv()) > mostNames {
		return brokenf("a resume command with too many words")
	}
	return checkTexts(append(texts, d.GetResume().GetArgv()...))
}

// checkProviderID accepts lower case, digits and '_'.
func checkProviderID(id string) error {
	if id == "" || len(id) > sdkplugin.MaxProviderID {
		return brokenf("a provider id of %d bytes", len(id))
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return brokenf("a provider id with other characters than lower case, digits and '_'")
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
		for _, label := range []string{f.GetName(), f.GetLeaf(), f.GetSchemaVariant(), f.GetParserRevision()} {
			if len(label) > sdkplugin.MaxLabel {
				return nil, brokenf("a format label of %d bytes", len(label))
			}
		}
	}
	return names, nil
}

func checkRoot(root *historyv1.RootCapability, formats map[string]bool) error {
	if len(root.GetChildren()) > mostNames || len(root.GetKinds()) > mostNames {
		return brokenf("a root capability with too many children")
	}
	for _, child := range root.GetChildren() {
		if !formats[child.GetFormat()] {
			return brokenf("a root child of an undeclared format")
		}
		if err := checkSuffix(child.GetSuffix()); err != nil {
			return err
		}
		if err := checkTexts([]string{child.GetRole(), child.GetKind()}); err != nil {
			return err
		}
	}
	return checkTexts(append([]string{root.GetExpander()}, root.GetKinds()...))
}

func checkLocations(locations []*historyv1.Location, formats map[string]bool) error {
	if len(locations) > mostLocations {
		return brokenf("%d locations", len(locations))
	}
	for _, l := range locations {
		if !formats[l.GetFormat()] {
			return brokenf("a location of an undeclared format")
		}
		if l.GetEnv() == "" && l.GetBase() == historyv1.Base_BASE_UNSPECIFIED {
			return brokenf("a location without variable and base")
		}
		if err := checkSuffix(l.GetSuffix()); err != nil {
			return err
		}
		if err := checkProbe(l.GetProbe()); err != nil {
			return err
		}
		if len(l.GetPlatforms()) > mostNames || len(l.GetNoDiskValues()) > mostNames {
			return brokenf("a location with too many values")
		}
		if err := checkTexts(append([]string{l.GetEnv(), l.GetRole(), l.GetSlot()}, l.GetNoDiskValues()...)); err != nil {
			return err
		}
	}
	return nil
}

func checkProbe(probe *historyv1.Probe) error {
	if len(probe.GetGlobs()) > mostNames || probe.GetMaxDepth() > 64 || probe.GetMaxEntries() > 10_000 {
		return brokenf("a probe beyond its bounds")
	}
	return checkTexts(probe.GetGlobs())
}

// checkSuffix keeps a declared place below its base.
func checkSuffix(suffix string) error {
	if suffix == "" {
		return nil
	}
	if !cleanLocator(strings.TrimSuffix(suffix, "/")) {
		return brokenf("a suffix that leaves its base")
	}
	return nil
}

func checkTexts(texts []string) error {
	for _, text := range texts {
		if len(text) > longestText {
			return brokenf("a text of %d bytes", len(text))
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return brokenf("a text with control characters")
		}
	}
	return nil
}

// Bounds of Resolve, as the contract states them.
const (
	mostCandidates = 256
	mostIssues     = 64
)

func checkResolved(r *historyv1.ResolveResponse) error {
	if len(r.GetCandidates()) > mostCandidates || len(r.GetIssues()) > mostIssues {
		return brokenf("%d candidates and %d issues", len(r.GetCandidates()), len(r.GetIssues()))
	}
	for _, c := range r.GetCandidates() {
		if !filepath.IsAbs(c.GetPath()) || len(c.GetPath()) > sdkplugin.MaxLocator || strings.ContainsRune(c.GetPath(), 0) {
			return brokenf("a candidate that is no absolute path")
		}
		if err := checkProbe(c.GetProbe()); err != nil {
			return err
		}
		if err := checkTexts([]string{c.GetFormat(), c.GetRole()}); err != nil {
			return err
		}
	}
	for _, i := range r.GetIssues() {
		if len(i.GetMessage()) > sdkplugin.MaxMessage || len(i.GetPath()) > sdkplugin.MaxLocator || strings.ContainsRune(i.GetPath(), 0) {
			return brokenf("an issue beyond its bounds")
		}
		if err := checkTexts([]string{i.GetCode(), i.GetMessage()}); err != nil {
			return err
		}
	}
	return nil
}
