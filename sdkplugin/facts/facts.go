// Package facts collects the literal facts of events: which strings under which keys of an agent's records name a file, a
// command, a branch.
//
// A Table says what a recognised key names: each name is listed under its kind, with " text" behind it when only a string under it
// is a fact. A Collector holds the facts of one event after another in memory that it keeps:
// first the base, which every event of a record has (the directory of the session, its branch), then the event's own. A Walk is a
// Collector that takes whole values.
package facts

import (
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// Key is what a string under a recognised key is, and the number of that key as a bit, so that a set of keys is one word.
type Key struct {
	Kind sdkplugin.FactKind // 0: the key names no fact, only where it stands matters
	Bit  uint64
	Text bool // only a string under the key is a fact, no list of them
}

// Table holds at most 64 recognised keys.
type Table struct {
	keys    map[string]Key
	longest int
	facts   uint64 // keys that name facts
}

// NewTable numbers the keys of each kind; those of kind 0 are only looked for.
func NewTable(kinds map[sdkplugin.FactKind][]string) Table {
	t := Table{keys: map[string]Key{}}
	for kind, names := range kinds {
		for _, name := range names {
			k := Key{Kind: kind, Bit: 1 << len(t.keys)}
			name, k.Text = strings.CutSuffix(name, " text")
			t.keys[name] = k
			t.longest = max(t.longest, len(name))
			if kind != 0 {
				t.facts |= k.Bit
			}
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

// Bits returns the set of some keys.
func (t *Table) Bits(names ...string) (set uint64) {
	for _, name := range names {
		set |= t.keys[name].Bit
	}
	return set
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
	fact := sdkplugin.Fact{Kind: kind, Value: texts.View(value)}
	if len(value) > 0 && len(value) <= fact.Limit() && len(c.List) <= sdkplugin.MaxFacts {
		c.List = append(c.List, fact)
	}
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

// Walk collects the facts of whole values, depth first in the order of the text.
type Walk struct {
	Collector
	Named, Twice uint64 // keys that stand anywhere in the value, and twice in one of its objects
	Most         int    // facts that one object names at most
}

// Value walks a value.
func (w *Walk) Value(t *Table, v canonical.Value) {
	w.Named, w.Twice, w.Most = 0, 0, 0
	w.walk(t, v)
}

// Distinct walks a value, which gives no facts when one of its objects names a key of facts twice.
func (w *Walk) Distinct(t *Table, v canonical.Value) {
	start := len(w.List)
	if w.Value(t, v); w.Twice&t.facts != 0 {
		w.List = w.List[:start]
	}
}

func (w *Walk) walk(t *Table, v canonical.Value) {
	switch v.Kind() {
	case canonical.Array:
		for element := range v.Elems {
			w.walk(t, element)
		}
	case canonical.Object:
		var seen uint64
		named := 0
		for key, m := range v.Each {
			if k, ok := t.Look(key); ok {
				w.Twice |= seen & k.Bit
				seen |= k.Bit
				if k.Kind != 0 {
					named++
					if !k.Text || m.IsString() {
						w.AddValue(k.Kind, m)
					}
				}
			}
			w.walk(t, m)
		}
		w.Named |= seen
		w.Most = max(w.Most, named)
	}
}
