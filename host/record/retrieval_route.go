package record

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// route is one way to call ctx that retrieves. Its options are given with the rule of their values: the name of a form (see
// validValue), "low..high", or the values themselves with | between them; none for a flag. A * behind the rule lets the option be
// repeated.
type route struct {
	command   string
	options   map[string]string
	positions [2]int // least and most arguments that are no option
	position  string // rule of these
	anyTail   bool   // the rest of the line is not looked at
	// proven checks what several options say together.
	proven func(line *commandLine) bool
}

// with adds options to those that several routes share.
func with(shared, own map[string]string) map[string]string {
	all := maps.Clone(shared)
	maps.Copy(all, own)
	return all
}

var (
	eventOptions = map[string]string{
		"--before": "0..50", "--after": "0..50", "--window": "0..50", "--redact": "", "--format": "text|markdown|json|jsonl",
	}
	sessionOptions = map[string]string{
		"--provider": "text", "--provider-session": "text", "--mode": "full|lite|log", "--max-events": "1..9223372036854775808",
		"--redact": "", "--format": "text|markdown|html|json|jsonl", "--out": "text",
	}
	listOptions = map[string]string{
		"--provider": "text*", "--source": "uuid", "--history-source": "pair", "--provider-key": "text", "--source-id": "text",
		"--source-format": "text", "--provider-session": "text", "--session": "uuid", "--parent-session": "uuid", "--root-session": "uuid",
		"--branch": "text", "--workspace": "text", "--event-type": "text", "--role": "text", "--agent-type": "text", "--file": "text",
		"--scope": "all|primary|subagent", "--redact": "",
	}
	locateOptions = map[string]string{"--provider": "text", "--provider-session": "text", "--format": "text|json"}
)

// globalOptions are accepted once each, before or among the arguments of every command.
var globalOptions = map[string]string{"--quiet": "", "--data-root": "text", "--color": "auto|always|never"}

var routes = []route{
	{command: "search", positions: [2]int{0, 1}, position: "any", proven: searchProven, options: map[string]string{
		"--term": "text*", "--limit": "1..200", "--provider": "text", "--history-source": "pair", "--provider-key": "text",
		"--source-id": "text", "--source-format": "text", "--workspace": "text", "--since": "since", "--file": "text",
		"--source-root": "text*", "--source-group": "text*", "--primary-only": "", "--events": "", "--verbose": "",
		"--content-scope": strings.Join(contentScopeNames[:], "|"), "--event-type": strings.Join(SearchableTypes(), "|"),
		"--session": "id", "--exclude-session": "id*", "--backend": "hybrid|semantic|lexical", "--semantic-weight": "weight",
		"--refresh": "background|off|wait", "--include-current-session": "", "--explain": "", "--redact": "", "--format": "text|json",
	}},
	{command: "show event", positions: [2]int{1, 1}, position: "id", options: eventOptions},
	{command: "show session", positions: [2]int{0, 1}, position: "id", proven: sessionProven, options: sessionOptions},
	{command: "show", positions: [2]int{1, 1}, position: "id", proven: sessionProven, options: with(eventOptions, sessionOptions)},
	{command: "list events", proven: rangeProven, options: with(listOptions, map[string]string{
		"--since": "time", "--until": "time", "--direction": "ascending|descending", "--cursor": "text", "--limit": "1..10000000",
		"--content": strings.Join(contentNames[:], "|"), "--format": "json|jsonl",
	})},
	{command: "list sessions", options: with(listOptions, map[string]string{"--since": "since", "--limit": "1..10000", "--format": "text|json"})},
	{command: "locate event", positions: [2]int{1, 1}, position: "id", options: map[string]string{"--format": "text|json"}},
	{command: "locate session", positions: [2]int{0, 1}, position: "id", proven: sessionProven, options: locateOptions},
	{command: "locate", positions: [2]int{1, 1}, position: "id", proven: sessionProven, options: locateOptions},
	{command: "blame", anyTail: true},
}

// ordinaryCommands are the commands of ctx that retrieve nothing.
var ordinaryCommands = []string{
	"setup", "status", "stats", "index", "sources", "import", "forget", "pro", "referral", "docs", "integrations", "mcp", "daemon",
	"upgrade", "doctor",
}

var forms = map[string]func() *regexp.Regexp{
	"any":  pattern(``),
	"uuid": pattern(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`),
	"id":   pattern(`^(?:[0-9a-fA-F]{8,32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`), // or a prefix
	"pair": pattern(`(?s)^[^/]+/.+$`),
	"text": pattern(`[^\s\v\p{Z}\x{85}]`),
}

// validValue tells whether the value of an option or a position keeps its rule.
func validValue(rule, v string) bool {
	if form, ok := forms[rule]; ok {
		return form().MatchString(v) && len(v) <= MaxText
	}
	switch rule {
	case "weight":
		f, err := strconv.ParseFloat(v, 64)
		return err == nil && f >= 0 && f <= 1
	case "since": // a time or a number of days: 7d
		if days, ok := strings.CutSuffix(v, "d"); ok {
			return validValue("0..2147483648", days)
		}
		return validValue("time", v)
	case "time":
		_, err := time.Parse(time.RFC3339, v)
		return err == nil
	}
	if low, high, ok := strings.Cut(rule, ".."); ok {
		least, _ := strconv.ParseUint(low, 10, 64)
		most, _ := strconv.ParseUint(high, 10, 64)
		n, err := strconv.ParseUint(v, 10, 64)
		return err == nil && n >= least && n <= most
	}
	return slices.Contains(strings.Split(rule, "|"), v)
}

// commandLine is a command line that was taken apart.
type commandLine struct {
	options   map[string]bool
	positions []string
}

func searchProven(c *commandLine) bool {
	if c.options["--content-scope"] && c.options["--event-type"] || c.options["--session"] && c.options["--exclude-session"] {
		return false
	}
	query := len(c.positions) == 1 && strings.TrimSpace(c.positions[0]) != ""
	return query || c.options["--term"] || c.options["--file"]
}

// sessionProven wants a session to be named in exactly one way.
func sessionProven(c *commandLine) bool {
	return (len(c.positions) == 1) != c.options["--provider-session"]
}

func rangeProven(c *commandLine) bool { return c.options["--since"] == c.options["--until"] }

// routeVerdict judges the words behind the program name.
func routeVerdict(words []string) Verdict {
	c := commandLine{options: map[string]bool{}}
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		taken := c.option(globalOptions, words)
		if taken == 0 {
			return VerdictUnknown
		}
		words = words[taken:]
	}
	if len(words) > 0 && slices.Contains(ordinaryCommands, words[0]) {
		return VerdictOrdinary
	}
	for i := range routes {
		r := &routes[i]
		command := strings.Fields(r.command)
		if len(words) >= len(command) && slices.Equal(words[:len(command)], command) && (r.anyTail || c.parse(r, words[len(command):])) {
			return VerdictDerived
		}
	}
	return VerdictUnknown
}

// parse reads the arguments of a route and tells whether they prove a valid call.
func (c *commandLine) parse(r *route, words []string) bool {
	for len(words) > 0 && words[0] != "--" {
		if len(words[0]) < 2 || words[0][0] != '-' {
			c.positions = append(c.positions, words[0])
			words = words[1:]
			continue
		}
		taken := max(c.option(r.options, words), c.option(globalOptions, words))
		if taken == 0 {
			return false
		}
		words = words[taken:]
	}
	if len(words) > 0 {
		c.positions = append(c.positions, words[1:]...)
	}
	if len(c.positions) < r.positions[0] || len(c.positions) > r.positions[1] {
		return false
	}
	invalid := func(position string) bool { return !validValue(r.position, position) }
	return !slices.ContainsFunc(c.positions, invalid) && (r.proven == nil || r.proven(c))
}

// option reads one option with its value, which is part of the word or the next one, and returns the number of words, 0 for one that
// is not proven.
func (c *commandLine) option(known map[string]string, words []string) (taken int) {
	name, value, joined := strings.Cut(words[0], "=")
	rule, ok := known[name]
	rule, repeat := strings.CutSuffix(rule, "*")
	if !ok || c.options[name] && !repeat {
		return 0
	}
	taken = 1
	switch {
	case rule == "" && joined:
		return 0
	case rule != "" && !joined:
		if len(words) < 2 {
			return 0
		}
		value, taken = words[1], 2
	}
	if rule != "" && !validValue(rule, value) {
		return 0
	}
	c.options[name] = true
	return taken
}
