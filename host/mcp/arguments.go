package mcp

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthistory/ctx/host/history"
)

// kind is the type of an argument.
type kind uint8

const (
	text kind = iota
	boolean
	integer // not negative
	number
	list  // of strings
	names // of roots or groups: values that no message repeats
)

var kindNames = [...]string{"a string", "a boolean", "a non-negative integer", "a number", "an array of strings", "an array of strings"}

// maxNames is the most entries of a list of names.
const maxNames = 64

// property is one argument of a tool.
type property struct {
	name     string
	kind     kind
	about    string
	required bool
	enum     []string
	open     bool // enum is announced; what else is taken, the tool knows
	low      int64
	high     int64
	longest  int // > 0: ASCII of 1 to this many bytes
	preset   any // announced default, nil for none
	hidden   bool
}

func (p *property) schema() map[string]any {
	s := map[string]any{"description": p.about}
	switch p.kind {
	case text:
		s["type"] = "string"
	case boolean:
		s["type"] = "boolean"
	case integer:
		s["type"], s["minimum"], s["maximum"] = "integer", p.low, p.high
	case number:
		s["type"], s["minimum"], s["maximum"] = "number", p.low, p.high
	case list:
		s["type"], s["items"] = "array", map[string]any{"type": "string"}
	case names:
		s["type"], s["maxItems"] = "array", maxNames
		s["items"] = map[string]any{"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9_-]+$"}
	}
	if p.enum != nil {
		s["enum"] = p.enum
	}
	if p.longest > 0 {
		s["minLength"], s["maxLength"] = 1, p.longest
	}
	if p.preset != nil {
		s["default"] = p.preset
	}
	return s
}

// arguments are the checked arguments of a call, by name. What is missing was left out, or null.
type arguments map[string]json.RawMessage

// into fills the members of v that are named like arguments.
func (a arguments) into(v any) error {
	raw, err := json.Marshal(map[string]json.RawMessage(a))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// parse checks the form of arguments: names, types, bounds and closed lists of values.
func (t *tool) parse(raw json.RawMessage) (arguments, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, invalid("the arguments cannot be read")
	}
	if t.conflict(given) {
		return nil, invalid("%s exclude each other", strings.Join(t.exclusive, " and "))
	}
	var unknown []string
	for name := range given {
		if !slices.ContainsFunc(t.properties, func(p property) bool { return p.name == name }) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return nil, invalid("%s takes no argument %s", t.name, strconv.Quote(slices.Min(unknown)))
	}
	args := arguments{}
	for i := range t.properties {
		p := &t.properties[i]
		value, ok := given[p.name]
		if !ok || string(value) == "null" {
			if p.required {
				return nil, invalid("%s is required", p.name)
			}
			continue
		}
		if err := p.fits(value); err != nil {
			return nil, err
		}
		args[p.name] = value
	}
	return args, nil
}

// conflict tells that all of the arguments are given that exclude each other, whatever their values are.
func (t *tool) conflict(given map[string]json.RawMessage) bool {
	for _, name := range t.exclusive {
		if value, ok := given[name]; !ok || string(value) == "null" {
			return false
		}
	}
	return len(t.exclusive) > 0
}

// fits checks the form of a value.
func (p *property) fits(raw json.RawMessage) error {
	form, inside := true, true
	switch p.kind {
	case text:
		var s string
		if isString(raw) && json.Unmarshal(raw, &s) == nil {
			return p.checkText(s)
		}
		form = false
	case boolean:
		form = string(raw) == "true" || string(raw) == "false"
	case integer:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		form, inside = err == nil && raw[0] != '-', n >= p.low && n <= p.high
	case number:
		n, err := strconv.ParseFloat(string(raw), 64)
		form, inside = err == nil, n >= float64(p.low) && n <= float64(p.high)
	default:
		var all []*string
		form = raw[0] == '[' && json.Unmarshal(raw, &all) == nil && !slices.Contains(all, nil)
	}
	switch {
	case !form:
		return invalid("%s must be %s", p.name, kindNames[p.kind])
	case !inside:
		return invalid("%s is %d to %d", p.name, p.low, p.high)
	}
	return nil
}

func (p *property) checkText(s string) error {
	switch {
	case p.enum != nil && !p.open && !slices.Contains(p.enum, s):
		return invalid("%s is one of %s", p.name, strings.Join(p.enum, ", "))
	case p.longest > 0 && (s == "" || len(s) > p.longest || strings.ContainsFunc(s, func(r rune) bool { return r > 127 })):
		return invalid("%s has 1 to %d ASCII characters; copy it from the page before", p.name, p.longest)
	}
	return nil
}

func (a arguments) text(name string) string {
	var s string
	_ = json.Unmarshal(a[name], &s) // "" for what was left out
	return s
}

// id checks that an argument has the form of a ctx id. what it names: session or event.
func (a arguments) id(name, what string) error {
	if _, _, err := history.ParseID(what, a.text(name)); err != nil {
		return invalid("%s takes a ctx %s id: %s (a full UUID, or at least its first 8 hex digits)", name, what, err)
	}
	return nil
}

// notBlank refuses filters that were given without a value.
func (a arguments) notBlank(code func(string, ...any) error, filters ...string) error {
	for _, name := range filters {
		if _, given := a[name]; given && strings.TrimSpace(a.text(name)) == "" {
			return code("%s is empty", name)
		}
	}
	return nil
}
