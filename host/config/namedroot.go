package config

import (
	"os"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/plain"
)

// AddRoot writes a named root to config.toml. The provider may have any public spelling and the path may be relative or a link; the
// root is returned as it is written. Settings that stand there already are no change, other settings of the same name need replace,
// which sets all of them. Faults: invalid_request, source_unavailable, and those of Edit.
func (c *Config) AddRoot(want Root, replace bool) (root Root, changed bool, err error) {
	if want, err = c.canonicalRoot(want); err != nil {
		return Root{}, false, err
	}
	changed, err = Edit(c.DataRoot, c.Environment, func(now *Config, text []byte) ([]byte, error) {
		have, exists := now.rootNamed(want.Name)
		switch {
		case !exists:
		case have.Provider != want.Provider:
			return nil, fault.New(fault.InvalidRequest, "the root belongs to another provider, which never changes under one name").
				WithHint("choose another name, or ctx sources remove it first")
		case have.Path == want.Path && have.Group == want.Group && have.Kind == want.Kind:
			return text, nil
		case !replace:
			return nil, fault.New(fault.InvalidRequest, "there is a root of this name with other settings").
				WithHint("add --replace to set all of them anew, or choose another name")
		}
		return putRoot(text, want)
	})
	return want, changed, err
}

// RemoveRoot removes a named root from config.toml and returns it as it was. What was indexed under it stays.
func (c *Config) RemoveRoot(name string) (root Root, err error) {
	_, err = Edit(c.DataRoot, c.Environment, func(now *Config, text []byte) ([]byte, error) {
		found, exists := now.rootNamed(name)
		if !exists {
			return nil, fault.New(fault.NotFound, "there is no root of this name").WithHint("ctx sources --all")
		}
		root = found
		return dropTable(text, rootKey(name))
	})
	return root, err
}

func (c *Config) rootNamed(name string) (Root, bool) {
	for _, r := range c.Roots {
		if r.Name == name {
			return r, true
		}
	}
	return Root{}, false
}

// canonicalRoot checks what the file cannot: that the path exists and is what a root of the provider has to be.
func (c *Config) canonicalRoot(want Root) (Root, error) {
	p, known := c.ProviderNamed(want.Provider)
	switch {
	case !ValidName(want.Name) || want.Group != "" && !ValidName(want.Group):
		return want, fault.New(fault.InvalidRequest, "names of roots and groups are 1 to 64 letters, digits, '-' or '_'")
	case !known:
		return want, fault.New(fault.InvalidRequest, "no provider of this name is known").WithHint("ctx sources --all")
	case p.RootIs == NoNamedRoot:
		return want, fault.New(fault.InvalidRequest, "%s takes no named root", p.CLIName).WithHint("ctx import --provider %s --path PATH", p.CLIName)
	}
	want.Provider = p.ID
	resolved, err := Resolve(c.Environment.Absolute(want.Path))
	if err != nil {
		return want, fault.Wrap(err, fault.SourceUnavailable, "the root does not exist or cannot be read").WithHint("name an existing path")
	}
	if !ValidRootPath(resolved) {
		return want, fault.New(fault.InvalidRequest, "the path has a form that is not accepted").WithHint("name a local path of at most 16 KiB")
	}
	info, err := os.Stat(resolved)
	switch {
	case err != nil || p.RootIs == Directory && !info.IsDir():
		return want, fault.New(fault.SourceUnavailable, "a root of %s is a directory", p.CLIName)
	case p.RootIs == File && !info.Mode().IsRegular():
		return want, fault.New(fault.SourceUnavailable, "a root of %s is its database file", p.CLIName)
	}
	want.Path, want.Written, want.Exists = resolved, resolved, true
	return want, nil
}

// putRoot writes a root into a text. A root that has a table of its own keeps its place and its comments.
func putRoot(text []byte, r Root) ([]byte, error) {
	table := rootKey(r.Name)
	all, err := statements(text)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(s statement) bool { return s.header && slices.Equal(s.key, table) }) {
		if text, err = dropTable(text, table); err != nil {
			return nil, err
		}
	}
	// A new key stands right behind the header, so the last one is written first.
	for _, pair := range [][2]string{{"kind", r.Kind}, {"group", r.Group}, {"path", r.Path}, {"provider", r.Provider}} {
		literal := ""
		if pair[1] != "" {
			literal = literalOf(pair[1])
		}
		if text, err = setKey(text, table, pair[0], literal); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// literalOf is the literal of a value: a JSON string is a basic string of TOML, except for DEL.
func literalOf(value any) string {
	text, err := plain.JSON(value)
	if err != nil {
		panic(err) // texts and truths always have a form
	}
	return strings.ReplaceAll(string(text), "\x7f", `\u007f`)
}
