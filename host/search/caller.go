package search

import (
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
)

// callerRule says which variables prove that an agent's session runs this process.
type callerRule struct {
	provider string
	session  string              // variable with the provider's session id
	also     map[string][]string // further variables and their allowed values
	anyOf    map[string]string   // at least one of these has its value, and none another one
}

var callerRules = []callerRule{
	{provider: "codex", session: "CODEX_THREAD_ID"},
	{provider: "claude", session: "CLAUDE_CODE_SESSION_ID"},
	{provider: "grok_build", session: "GROK_SESSION_ID"},
	{provider: "shelley", session: "SHELLEY_CONVERSATION_ID"},
	{provider: "qwen_code", session: "QWEN_CODE_SESSION_ID", also: map[string][]string{"QWEN_CODE": {"1"}}},
	{provider: "pi", session: "PI_SESSION_ID", also: map[string][]string{"AI_AGENT": {"pi"}, "PI_CODING_AGENT": {"true"}}},
	{provider: "hermes", session: "HERMES_SESSION_ID", also: map[string][]string{"AI_AGENT": {"hermes-agent"}, "HERMES_AGENT": {"true"}}},
	{provider: "goose", session: "AGENT_SESSION_ID", anyOf: map[string]string{"AGENT": "goose", "GOOSE_TERMINAL": "1"}},
	{provider: "mux", session: "MUX_WORKSPACE_ID", also: map[string][]string{"MUX_RUNTIME": {"local", "worktree", "ssh", "docker", "devcontainer"}}},
	{provider: "deepseek_harness", session: "DSH_SESSION_ID", also: map[string][]string{"DSH_SHELL": {"1"}}},
}

// caller names the session that runs this process; ok is false unless exactly one provider matches the environment.
func caller(lookup func(string) (string, bool)) (provider, session string, ok bool) {
	if lookup == nil {
		return "", "", false
	}
	value := func(name string) string {
		v, _ := lookup(name)
		if v = strings.TrimSpace(v); len(v) > maxFilterBytes {
			return ""
		}
		return v
	}
	matches := 0
	for _, rule := range callerRules {
		if id := value(rule.session); id != "" && rule.holds(value) {
			provider, session = rule.provider, id
			matches++
		}
	}
	return provider, session, matches == 1
}

func (r *callerRule) holds(value func(string) string) bool {
	for name, allowed := range r.also {
		if !slices.Contains(allowed, value(name)) {
			return false
		}
	}
	if r.anyOf == nil {
		return true
	}
	agreed := false
	for name, want := range r.anyOf {
		switch value(name) {
		case "":
		case want:
			agreed = true
		default:
			return false
		}
	}
	return agreed
}

// Bounds of the caller's session tree.
const (
	maxAncestors    = 64
	maxTreeSessions = 4096
	maxTreeRounds   = 65
)

// callerSessions returns the ordinals of the sessions to leave out: the caller's own, and its tree when that is proven.
func callerSessions(gen *core.Generation, provider, id string) ([]uint32, error) {
	own, err := gen.SessionsByProviderID(provider, id, maxTreeSessions)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	out := make([]uint32, len(own))
	for i, s := range own {
		out[i] = s.Ordinal
	}
	if len(own) > 1 {
		return out, nil
	}
	line, err := ancestry(gen, own[0])
	if err != nil || line == nil {
		return out, err
	}
	tree, err := descendants(gen, line)
	if err != nil || tree == nil {
		return out, err
	}
	return tree, nil
}

// ancestry returns the session and its ancestors by id, nil when the chain of parents is not complete or a root claim names a session
// outside it.
func ancestry(gen *core.Generation, s *record.Session) (map[record.Digest]uint32, error) {
	line := map[record.Digest]uint32{}
	var roots []record.Digest
	for at := s; ; {
		if _, again := line[at.ID]; again || len(line) > maxAncestors {
			return nil, nil
		}
		line[at.ID] = at.Ordinal
		if at.Root != nil {
			roots = append(roots, *at.Root)
		}
		if at.Parent == nil {
			break
		}
		parent, err := gen.SessionByID(*at.Parent)
		if err != nil {
			return nil, err
		}
		if parent == nil {
			return nil, nil
		}
		at = parent
	}
	for _, root := range roots {
		if _, proven := line[root]; !proven {
			return nil, nil
		}
	}
	return line, nil
}

// descendants adds every session that claims a parent or root in the closure; nil when the tree is out of bounds.
func descendants(gen *core.Generation, line map[record.Digest]uint32) ([]uint32, error) {
	type child struct {
		id      record.Digest
		ordinal uint32
	}
	children := map[record.Digest][]child{}
	err := gen.Sessions(func(s *record.Session, _ core.SessionStats) error {
		for _, claim := range []*record.Digest{s.Parent, s.Root} {
			if claim != nil && *claim != s.ID {
				children[*claim] = append(children[*claim], child{s.ID, s.Ordinal})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var tree []uint32
	var level []record.Digest
	for id, ordinal := range line {
		tree, level = append(tree, ordinal), append(level, id)
	}
	for round := 0; len(level) > 0; round++ {
		if round == maxTreeRounds {
			return nil, nil
		}
		var next []record.Digest
		for _, id := range level {
			for _, c := range children[id] {
				if _, known := line[c.id]; known {
					continue
				}
				line[c.id] = c.ordinal
				tree, next = append(tree, c.ordinal), append(next, c.id)
			}
		}
		if len(tree) > maxTreeSessions {
			return nil, nil
		}
		level = next
	}
	slices.Sort(tree)
	return tree, nil
}
