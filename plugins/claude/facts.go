package claude

import (
	"bytes"
	"unsafe"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// maxFilenames is how many entries of a search result's file list become facts.
const maxFilenames = 200

// factKey is what a string under a recognised key is, and the number of that key as a bit.
type factKey struct {
	kind sdkplugin.FactKind
	bit  uint64
}

// factKeys holds the recognised keys. There are 40, so that an object with more than 64 of them repeats one.
var factKeys = numberKeys(map[sdkplugin.FactKind][]string{
	sdkplugin.FactToolWorkdir: {"cwd", "workdir", "working_directory"},
	sdkplugin.FactFile: {"file", "file_path", "filePath", "path", "paths", "old_path", "new_path", "notebook_path",
		"notebookPath"},
	sdkplugin.FactURL:         {"url", "uri", "repository_url", "repositoryUrl", "remote_url"},
	sdkplugin.FactForge:       {"forge", "forge_url"},
	sdkplugin.FactProject:     {"project", "project_id", "repository", "repo"},
	sdkplugin.FactVCS:         {"vcs", "git"},
	sdkplugin.FactCommit:      {"commit", "commit_id", "commit_sha", "sha"},
	sdkplugin.FactPullRequest: {"pull_request", "pullRequest", "pr", "pr_id"},
	sdkplugin.FactCommand:     {"command", "cmd"},
	sdkplugin.FactBranch:      {"branch", "branch_name", "gitBranch"},
	sdkplugin.FactWorkspace:   {"workspace", "workspace_id"},
})

// longestFactKey lets most keys pass without a look at the table.
const longestFactKey = len("working_directory")

func numberKeys(kinds map[sdkplugin.FactKind][]string) map[string]factKey {
	keys := map[string]factKey{}
	for kind, names := range kinds {
		for _, name := range names {
			keys[name] = factKey{kind, 1 << len(keys)}
		}
	}
	return keys
}

// factWalk collects the facts of one block, depth first in the order of the text.
type factWalk struct {
	facts []sdkplugin.Fact
	base  int  // facts before the block's own
	void  bool // the block gives no facts
	// rewrite is set when the block holds something that is not stored: encoded binaries, encrypted content.
	rewrite bool
}

// block walks one block. Its facts are dropped as a whole when an object names a recognised key twice.
func (w *factWalk) block(v canonical.Value) {
	w.void, w.rewrite = false, false
	start := len(w.facts)
	w.walk(v)
	if w.void {
		w.facts = w.facts[:start]
	}
}

func (w *factWalk) walk(v canonical.Value) {
	switch v.Kind() {
	case canonical.Array:
		for element := range v.Elems {
			w.walk(element)
		}
	case canonical.Object:
		w.object(v)
	}
}

func (w *factWalk) object(v canonical.Value) {
	var seen uint64
	for key, m := range v.Each {
		if len(key) <= longestFactKey {
			if k, ok := factKeys[string(key)]; ok {
				w.void = w.void || seen&k.bit != 0
				seen |= k.bit
				w.value(k.kind, m)
			} else if unstored(key) {
				w.rewrite = true
			}
		}
		w.walk(m)
	}
}

// value adds a string, or each string of an array.
func (w *factWalk) value(kind sdkplugin.FactKind, v canonical.Value) {
	if v.IsString() {
		w.add(kind, v.Str())
		return
	}
	for element := range v.Elems {
		if element.IsString() {
			w.add(kind, element.Str())
		}
	}
}

// add appends one fact. Empty values and values beyond the host's limits are passed over.
func (w *factWalk) add(kind sdkplugin.FactKind, value []byte) {
	limit := sdkplugin.MaxString
	if kind == sdkplugin.FactFile {
		limit = sdkplugin.MaxFileFact
	}
	if len(value) == 0 || len(value) > limit || len(w.facts) > sdkplugin.MaxFacts {
		return
	}
	w.facts = append(w.facts, sdkplugin.Fact{Kind: kind, Value: view(value)})
}

// resultFiles adds the files that the client's own result object names.
func (w *factWalk) resultFiles(result canonical.Value) {
	w.add(sdkplugin.FactFile, result.Get("filePath").Str())
	w.add(sdkplugin.FactFile, result.Get("file").Get("filePath").Str())
	taken := 0
	for name := range result.Get("filenames").Elems {
		if taken == maxFilenames {
			return
		}
		taken++
		w.add(sdkplugin.FactFile, name.Str())
	}
}

// gitOperation adds what the client's own result object says about version control.
func (w *factWalk) gitOperation(op canonical.Value) {
	w.add(sdkplugin.FactCommit, op.Get("commit").Get("sha").Str())
	w.add(sdkplugin.FactBranch, op.Get("push").Get("branch").Str())
	w.add(sdkplugin.FactBranch, op.Get("branch").Get("ref").Str())
	w.add(sdkplugin.FactPullRequest, number(op.Get("pr").Get("number")))
	w.add(sdkplugin.FactURL, op.Get("pr").Get("url").Str())
}

// number returns an integer in decimal digits, or a string that a client wrote in its place.
func number(v canonical.Value) []byte {
	if v.IsInteger() {
		return v.Raw()
	}
	return bytes.TrimSpace(v.Str())
}

// settle drops all but the facts of the record when there are more than an event may have.
func (w *factWalk) settle() {
	if len(w.facts) > sdkplugin.MaxFacts {
		w.facts = w.facts[:w.base]
	}
}

// view reads bytes as a string without a copy, for fields that the writer copies before it returns.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
