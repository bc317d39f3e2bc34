package record

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// validator checks the value of an option.
type validator func(value string) bool

// option is one option of a command. A nil value makes it a flag.
type option struct {
	value  validator
	repeat bool
}

// route is one way to call ctx that retrieves.
type route struct {
	words        []string // the command
	options      map[string]option
	minPositions int
	maxPositions int
	position     validator
	anyTail      bool // the rest of the line is not looked at
	// proven checks what several options say together.
	proven func(line *commandLine) bool
}

// commandLine is a command line that was taken apart.
type commandLine struct {
	values    map[string][]string
	positions []string
}

func (c *commandLine) has(name string) bool { return len(c.values[name]) > 0 }

func oneOf(values ...string) validator {
	return func(v string) bool { return slices.Contains(values, v) }
}

func between(low, high uint64) validator {
	return func(v string) bool {
		n, err := strconv.ParseUint(v, 10, 64)
		return err == nil && n >= low && n <= high
	}
}

func notBlank(v string) bool { return strings.TrimSpace(v) != "" && len(v) <= MaxText }

func weightValue(v string) bool {
	f, err := strconv.ParseFloat(v, 64)
	return err == nil && f >= 0 && f <= 1
}

// idValue accepts a UUID or a prefix of 8 to 32 hex digits.
func idValue(v string) bool {
	digits := v
	if len(v) == 36 {
		if !uuidValue(v) {
			return false
		}
		digits = strings.ReplaceAll(v, "-", "")
	}
	return len(digits) >= 8 && len(digits) <= 32 && strings.Trim(digits, "0123456789abcdefABCDEF") == ""
}

func uuidValue(v string) bool {
	if len(v) != 36 || v[8] != '-' || v[13] != '-' || v[18] != '-' || v[23] != '-' {
		return false
	}
	digits := strings.ReplaceAll(v, "-", "")
	return len(digits) == 32 && strings.Trim(digits, "0123456789abcdefABCDEF") == ""
}

func timeValue(v string) bool {
	_, err := time.Parse(time.RFC3339, v)
	return err == nil
}

// sinceValue accepts a time or a number of days: 7d.
func sinceValue(v string) bool {
	days, isDays := strings.CutSuffix(v, "d")
	if isDays {
		return between(0, 1<<31)(days)
	}
	return timeValue(v)
}

func sourcePair(v string) bool {
	key, id, ok := strings.Cut(v, "/")
	return ok && key != "" && id != ""
}

var (
	someText     = option{value: notBlank}
	manyTexts    = option{value: notBlank, repeat: true}
	plainFlag    = option{}
	someID       = option{value: idValue}
	someWindow   = option{value: between(0, 50)}
	someScope    = option{value: oneOf("all", "primary", "subagent")}
	someTime     = option{value: timeValue}
	answerFormat = option{value: oneOf("text", "json")}
	shownFormat  = option{value: oneOf("text", "markdown", "json", "jsonl")}
)

// globalOptions are accepted once each, before or among the arguments of every command.
var globalOptions = map[string]option{
	"--quiet":     plainFlag,
	"--data-root": someText,
	"--color":     {value: oneOf("auto", "always", "never")},
}

var searchOptions = map[string]option{
	"--term": manyTexts, "--limit": {value: between(1, 200)}, "--provider": someText, "--history-source": {value: sourcePair},
	"--provider-key": someText, "--source-id": someText, "--source-format": someText, "--workspace": someText, "--since": {value: sinceValue},
	"--file": someText, "--source-root": manyTexts, "--source-group": manyTexts, "--primary-only": plainFlag,
	"--content-scope": {value: oneOf(contentScopeNames[:]...)}, "--event-type": {value: oneOf(SearchableTypes()...)},
	"--session": someID, "--exclude-session": {value: idValue, repeat: true}, "--events": plainFlag,
	"--backend": {value: oneOf("hybrid", "semantic", "lexical")}, "--semantic-weight": {value: weightValue},
	"--refresh": {value: oneOf("background", "off", "wait")}, "--include-current-session": plainFlag, "--format": answerFormat, "--verbose": plainFlag,
}

var listOptions = map[string]option{
	"--since": someTime, "--until": someTime, "--provider": manyTexts, "--source": {value: uuidValue}, "--history-source": {value: sourcePair},
	"--provider-key": someText, "--source-id": someText, "--source-format": someText, "--provider-session": someText, "--session": {value: uuidValue},
	"--parent-session": {value: uuidValue}, "--root-session": {value: uuidValue}, "--branch": someText, "--workspace": someText,
	"--event-type": someText, "--role": someText, "--agent-type": someText, "--file": someText, "--scope": someScope,
	"--direction": {value: oneOf("ascending", "descending")}, "--cursor": someText, "--limit": {value: between(1, 10_000_000)},
	"--content": {value: oneOf(contentNames[:]...)}, "--format": {value: oneOf("json", "jsonl")},
}

var routes = []route{
	{words: []string{"search"}, options: searchOptions, maxPositions: 1, position: anyValue, proven: searchProven},
	{words: []string{"show", "event"}, minPositions: 1, maxPositions: 1, position: idValue, options: map[string]option{
		"--before": someWindow, "--after": someWindow, "--window": someWindow, "--format": shownFormat,
	}},
	{words: []string{"show", "session"}, maxPositions: 1, position: idValue, proven: sessionProven, options: map[string]option{
		"--provider": someText, "--provider-session": someText, "--mode": {value: oneOf("full", "lite", "log")},
		"--max-events": {value: between(1, 1<<63)}, "--format": shownFormat, "--out": someText,
	}},
	{words: []string{"list", "events"}, options: listOptions, proven: func(c *commandLine) bool { return c.has("--since") == c.has("--until") }},
	{words: []string{"locate", "event"}, minPositions: 1, maxPositions: 1, position: idValue, options: map[string]option{"--format": answerFormat}},
	{words: []string{"locate", "session"}, maxPositions: 1, position: idValue, proven: sessionProven, options: map[string]option{
		"--provider": someText, "--provider-session": someText, "--format": answerFormat,
	}},
	{words: []string{"blame"}, anyTail: true},
}

// ordinaryCommands are the commands of ctx that retrieve nothing.
var ordinaryCommands = []string{
	"setup", "status", "stats", "index", "sources", "import", "forget", "pro", "referral", "docs", "integrations", "mcp", "daemon",
	"upgrade", "doctor",
}

func anyValue(string) bool { return true }

func searchProven(c *commandLine) bool {
	if c.has("--content-scope") && c.has("--event-type") || c.has("--session") && c.has("--exclude-session") {
		return false
	}
	query := len(c.positions) == 1 && strings.TrimSpace(c.positions[0]) != ""
	return query || c.has("--term") || c.has("--file")
}

// sessionProven wants a session to be named in exactly one way.
func sessionProven(c *commandLine) bool {
	return (len(c.positions) == 1) != c.has("--provider-session")
}

// routeVerdict judges the words behind the program name.
func routeVerdict(words []string) Verdict {
	c := commandLine{values: map[string][]string{}}
	words, ok := c.globals(words)
	if !ok || len(words) == 0 {
		return VerdictUnknown
	}
	if slices.Contains(ordinaryCommands, words[0]) {
		return VerdictOrdinary
	}
	for i := range routes {
		r := &routes[i]
		if len(words) < len(r.words) || !slices.Equal(words[:len(r.words)], r.words) {
			continue
		}
		if r.anyTail || c.parse(r, words[len(r.words):]) {
			return VerdictDerived
		}
	}
	return VerdictUnknown
}

// globals takes the global options before the command.
func (c *commandLine) globals(words []string) (rest []string, ok bool) {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		taken, ok := c.option(globalOptions, words)
		if !ok {
			return nil, false
		}
		words = words[taken:]
	}
	return words, true
}

// parse reads the arguments of a route and tells whether they prove a valid call.
func (c *commandLine) parse(r *route, words []string) bool {
	for len(words) > 0 {
		word := words[0]
		if word == "--" {
			c.positions = append(c.positions, words[1:]...)
			break
		}
		if len(word) < 2 || word[0] != '-' {
			c.positions = append(c.positions, word)
			words = words[1:]
			continue
		}
		taken, ok := c.option(r.options, words)
		if !ok {
			taken, ok = c.option(globalOptions, words)
		}
		if !ok {
			return false
		}
		words = words[taken:]
	}
	if len(c.positions) < r.minPositions || len(c.positions) > r.maxPositions {
		return false
	}
	for _, position := range c.positions {
		if !r.position(position) {
			return false
		}
	}
	return r.proven == nil || r.proven(c)
}

// option reads one option with its value, which is part of the word or the next one, and returns the number of words.
func (c *commandLine) option(known map[string]option, words []string) (taken int, ok bool) {
	name, value, joined := strings.Cut(words[0], "=")
	o, ok := known[name]
	if !ok || c.has(name) && !o.repeat {
		return 0, false
	}
	switch {
	case o.value == nil:
		if joined {
			return 0, false
		}
		value, taken = "true", 1
	case joined:
		taken = 1
	case len(words) < 2:
		return 0, false
	default:
		value, taken = words[1], 2
	}
	if o.value != nil && !o.value(value) {
		return 0, false
	}
	c.values[name] = append(c.values[name], value)
	return taken, true
}
