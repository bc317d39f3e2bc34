package sqlitesnap

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Table is what may be read of one table.
type Table struct {
	Name    string
	Columns []string // all that are ever named
	// Key is the column of text by which rows are found; it need not be one of Columns. Empty: rows come in the order of their
	// row numbers only.
	Key string
	// Keys are the keys that may be read: whole ones, and prefixes, which end with ':' or '/'. Nil: every row, for tables that
	// hold one kind of thing.
	Keys []string
}

var (
	errRefused = errors.New("not in the tables that may be read")
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	// A name is a credential by one of these words. Words are found inside of longer ones.
	credential = regexp.MustCompile(`(?i)auth|token|secret|passw|credential|cookie|api_?-?key|private_?-?key|encryption_?-?key`)
)

// validate reports what an allow-list must not hold: a name that is no plain identifier, a prefix that takes in more than a
// namespace, anything that looks like a credential.
func (t *Table) validate() error {
	names := append([]string{t.Name}, t.Columns...)
	if t.Key != "" {
		names = append(names, t.Key)
	}
	for _, name := range names {
		if !identifier.MatchString(name) || credential.MatchString(name) {
			return fmt.Errorf("sqlitesnap: the name %q may not be read", name)
		}
	}
	if len(t.Columns) == 0 || t.Keys != nil && t.Key == "" {
		return fmt.Errorf("sqlitesnap: table %q without columns, or with keys and no column for them", t.Name)
	}
	for _, key := range t.Keys {
		if key == "" || strings.Trim(key, ":/") == "" || credential.MatchString(key) {
			return fmt.Errorf("sqlitesnap: the key %q may not be read", key)
		}
	}
	return nil
}

func prefix(key string) bool { return strings.HasSuffix(key, ":") || strings.HasSuffix(key, "/") }

// allows tells whether every key of a range may be read. The end of a range is not part of it.
func (t *Table) allows(from, to string) bool {
	if t.Keys == nil {
		return true
	}
	return slices.ContainsFunc(t.Keys, func(key string) bool {
		return prefix(key) && strings.HasPrefix(from, key) && to <= After(key)
	})
}

// allowsKey tells whether one key may be read.
func (t *Table) allowsKey(key string) bool {
	return t.Keys == nil && !credential.MatchString(key) || slices.ContainsFunc(t.Keys, func(allowed string) bool {
		return key == allowed || prefix(allowed) && strings.HasPrefix(key, allowed)
	})
}

// After is the first key behind all that start with a prefix: the prefix with its last byte one higher.
func After(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(rune(prefix[last]+1))
}
