// Package facts collects the literal facts of events: which strings under which keys of an agent's records name a file, a
// command, a branch.
//
// A Table says what a recognised key names. A Collector holds the facts of one event after another in memory that it keeps:
// first the base, which every event of a record has (the directory of the session, its branch), then the event's own.
package facts

import (
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// Key is what a string under a recognised key is, and the number of that key as a bit, so that a set of seen keys is one word.
type Key struct {
	Kind sdkplugin.FactKind
	Bit  uint64
}

// Table holds at most 64 recognised keys.
type Table struct {
	keys    map[string]Key
	longest int
}

// NewTable numbers the keys of each kind.
func NewTable(kinds map[sdkplugin.FactKind][]string) Table {
	t := Table{keys: map[string]Key{}}
	for kind, names := range kinds {
		for _, name := range names {
			t.keys[name] = Key{kind, 1 << len(t.keys)}
			t.longest = max(t.longest, len(name))
		}
	}
	return t
}

// Look finds a key. Most keys of most records are too long for a look at the table.
func (t *Table) Look(name []byte) (Key, bool) {
	if len(name) > t.longest {
		return Key{}, false
	}
	k, ok := t.keys[string(name)]
	return k, ok
}

// Collector collects. The values are views of what they were taken from: valid as long as the record is.
type Collector struct {
	List []sdkplugin.Fact
	Base int // facts before the event's own
}

// Reset forgets everything.
func (c *Collector) Reset() { c.List, c.Base = c.List[:0], 0 }

// EndBase makes what is there the base.
func (c *Collector) EndBase() { c.Base = len(c.List) }

// Restart drops the event's own facts.
func (c *Collector) Restart() { c.List = c.List[:c.Base] }

// Settle drops the event's own facts when there are more than an event may have.
func (c *Collector) Settle() {
	if len(c.List) > sdkplugin.MaxFacts {
		c.Restart()
	}
}

// Add appends one fact. Empty values and values beyond the host's limits are passed over, as is everything behind the first fact
// too many.
func (c *Collector) Add(kind sdkplugin.FactKind, value []byte) {
	limit := sdkplugin.MaxString
	if kind == sdkplugin.FactFile {
		limit = sdkplugin.MaxFileFact
	}
	if len(value) == 0 || len(value) > limit || len(c.List) > sdkplugin.MaxFacts {
		return
	}
	c.List = append(c.List, sdkplugin.Fact{Kind: kind, Value: texts.View(value)})
}

// AddValue appends a string, or each string of an array.
func (c *Collector) AddValue(kind sdkplugin.FactKind, v canonical.Value) {
	if v.IsString() {
		c.Add(kind, v.Str())
		return
	}
	for element := range v.Elems {
		if element.IsString() {
			c.Add(kind, element.Str())
		}
	}
}
