package codex

import (
	"bytes"
	"maps"
	"math"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/facts"
)

// factKeys holds the recognised keys.
var factKeys = facts.NewTable(map[sdkplugin.FactKind][]string{
	sdkplugin.FactSessionCWD:  {"cwd", "current_working_directory"},
	sdkplugin.FactToolWorkdir: {"workdir", "working_directory"},
	sdkplugin.FactFile:        {"file", "file_path", "filepath", "path", "paths", "old_path", "new_path"},
	sdkplugin.FactURL:         {"url", "uri"},
	sdkplugin.FactForge:       {"forge", "host"},
	sdkplugin.FactProject:     {"project", "project_id", "project_name"},
	sdkplugin.FactVCS:         {"vcs", "repository", "repo", "remote"},
	sdkplugin.FactCommit:      {"commit", "commit_id", "commit_sha", "sha"},
	sdkplugin.FactPullRequest: {"pull_request", "pull_request_id", "pr", "pr_id"},
	sdkplugin.FactCommand:     {"command", "cmd"},
	sdkplugin.FactBranch:      {"branch", "branch_name"},
	sdkplugin.FactWorkspace:   {"workspace", "workspace_id"},
	0:                         slices.Collect(maps.Keys(selectors)),
})

// channel is a part of an event that a key which stands twice in one object makes unreadable.
type channel uint16

const (
	types channel = 1 << iota
	callIDs
	toolNames
	arguments
	results
	contents
	mcpNames
)

// selectors are the keys that matter when they stand twice.
var selectors = map[string]channel{
	"type": types, "id": callIDs, "call_id": callIDs, "callId": callIDs, "name": toolNames, "arguments": arguments, "input": arguments,
	"args": arguments, "output": results, "result": results, "content": contents, "status": contents, "protocol": mcpNames,
	"server": mcpNames, "tool": mcpNames, "invocation": mcpNames,
}

// maxKeys is how many recognised keys one object may have before the facts of its record are dropped.
const maxKeys = 64

// factWalk collects the facts of one record and finds the keys that stand twice.
type factWalk struct {
	facts.Walk
	doubled channel
}

// record walks a whole record.
func (w *factWalk) record(v canonical.Value) {
	w.Value(&factKeys, v)
	if w.Most > maxKeys || len(w.List)-w.Base > sdkplugin.MaxFacts {
		w.Restart()
	}
	if w.doubled = 0; w.Twice != 0 {
		for name, c := range selectors {
			if w.Twice&factKeys.Bits(name) != 0 {
				w.doubled |= c
			}
		}
	}
}

// walkRecord walks the record of the draft: it learns which channels are unreadable, and collects the facts of the session and of the
// record. Records that are no calls or results lose their own again.
func (m *mapper) walkRecord(own bool) {
	o := &m.state.Owner
	m.walk.Reset()
	for _, f := range [...]struct {
		kind  sdkplugin.FactKind
		value string
	}{
		{sdkplugin.FactSessionCWD, m.state.CWD}, {sdkplugin.FactCommit, o.Commit}, {sdkplugin.FactBranch, o.Branch},
		{sdkplugin.FactURL, o.URL},
	} {
		if f.value != "" {
			m.walk.List = append(m.walk.List, sdkplugin.Fact{Kind: f.kind, Value: f.value})
		}
	}
	m.walk.EndBase()
	m.walk.record(m.root)
	if m.doubled = m.walk.doubled; m.doubled&callIDs != 0 {
		m.state.Doubled = true
	}
	if !own {
		m.walk.Restart()
	}
}

// argumentFacts adds what the arguments of a call name: the same keys one level deep in an object that travels as a string, and
// the files of a patch.
func (m *mapper) argumentFacts(tool string, args canonical.Value) {
	const patchTool = "apply_patch"
	if args.IsObject() { // the action of a shell call
		m.patchFacts(shellPatch(args.Get("command")))
		return
	}
	text := args.Str()
	if tool == patchTool {
		m.patchFacts(text)
	}
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' || m.inner.Parse(text) != nil {
		return
	}
	inner := m.inner.Root()
	recognised, start := 0, len(m.walk.List)
	for key, v := range inner.Each {
		if k, ok := factKeys.Look(key); ok && k.Kind != 0 {
			recognised++
			m.walk.AddValue(k.Kind, v)
		}
	}
	if recognised > maxKeys {
		m.walk.List = m.walk.List[:start]
	}
	if tool == patchTool {
		m.patchFacts(inner.Get("input").Str())
		return
	}
	for _, name := range [...]string{"command", "cmd"} {
		if v := inner.Get(name); v.Exists() {
			m.patchFacts(shellPatch(v))
		}
	}
}

// Marks of the patch format.
var (
	patchBegin = []byte("*** Begin Patch")
	patchEnd   = []byte("*** End Patch")
	patchFiles = [][]byte{
		[]byte("*** Add File: "), []byte("*** Update File: "), []byte("*** Delete File: "), []byte("*** Move to: "),
	}
)

// patchFacts adds the files of a patch, in its order.
func (m *mapper) patchFacts(patch []byte) {
	_, patch, found := bytes.Cut(patch, patchBegin)
	for found {
		var line []byte
		line, patch, found = bytes.Cut(patch, []byte("\n"))
		line = bytes.TrimRight(line, "\r \t")
		if bytes.HasPrefix(line, patchEnd) {
			return
		}
		for _, mark := range patchFiles {
			if name, ok := bytes.CutPrefix(line, mark); ok {
				m.walk.Add(sdkplugin.FactFile, name)
			}
		}
	}
}

// shellPatch returns the patch that a shell call applies: the second word behind apply_patch, or a script that names it and holds
// a patch.
func shellPatch(command canonical.Value) []byte {
	var script []byte
	switch {
	case command.IsString():
		script = command.Str()
	case command.Len() == 2 && command.Elem(0).StrEquals("apply_patch"):
		return command.Elem(1).Str()
	case command.Len() == 3: // bash -lc script
		script = command.Elem(2).Str()
	}
	call, _, _ := bytes.Cut(script, patchBegin)
	if !bytes.Contains(call, []byte("apply_patch")) || !bytes.Contains(call, []byte("<<")) {
		return nil
	}
	return script
}

// changeFacts adds the files that a finished patch changed.
func (m *mapper) changeFacts(changes canonical.Value) {
	for name, change := range changes.Each {
		m.walk.Add(sdkplugin.FactFile, name)
		m.walk.Add(sdkplugin.FactFile, moved(change))
	}
}

// moved returns where a change moves a file to: a member of the change, or of the only member that tells its kind.
func moved(change canonical.Value) []byte {
	if to := change.Get("move_path"); to.IsString() {
		return to.Str()
	}
	for _, kind := range change.Each {
		if to := kind.Get("move_path"); to.IsString() {
			return to.Str()
		}
	}
	return nil
}

// disposition adds the exit code that a result declares.
func (m *mapper) disposition(code canonical.Value) bool {
	if !code.IsInteger() {
		return false
	}
	m.walk.Add(sdkplugin.FactProviderDisposition, append([]byte("exit_code:"), code.Raw()...))
	return true
}

// duration reads {secs, nanos}.
func duration(v canonical.Value) (d sdkplugin.Duration) {
	secs, ok := v.Get("secs").Uint64()
	nanos, known := v.Get("nanos").Uint64()
	if !ok || !known || nanos >= 1e9 || secs > (math.MaxUint64-nanos)/1e9 {
		return d
	}
	return sdkplugin.Duration{Nanos: secs*1e9 + nanos, Known: true}
}
