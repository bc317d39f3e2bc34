package claude

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/facts"
)

// maxFilenames is how many entries of a search result's file list become facts.
const maxFilenames = 200

// factKeys holds the recognised keys. There are 40, so that an object with more than 64 of them repeats one.
var factKeys = facts.NewTable(map[sdkplugin.FactKind][]string{
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

// factWalk collects the facts of one block, depth first in the order of the text.
type factWalk struct {
	facts.Collector
	void bool // the block gives no facts
	// rewrite is set when the block holds something that is not stored: encoded binaries, encrypted content.
	rewrite bool
}

// block walks one block. Its facts are dropped as a whole when an object names a recognised key twice.
func (w *factWalk) block(v canonical.Value) {
	w.void, w.rewrite = false, false
	start := len(w.List)
	w.walk(v)
	if w.void {
		w.List = w.List[:start]
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
		if k, ok := factKeys.Look(key); ok {
			w.void = w.void || seen&k.Bit != 0
			seen |= k.Bit
			w.AddValue(k.Kind, m)
		} else if unstored(key) {
			w.rewrite = true
		}
		w.walk(m)
	}
}

// resultFiles adds the files that the client's own result object names.
func (w *factWalk) resultFiles(result canonical.Value) {
	w.Add(sdkplugin.FactFile, result.Get("filePath").Str())
	w.Add(sdkplugin.FactFile, result.Get("file").Get("filePath").Str())
	taken := 0
	for name := range result.Get("filenames").Elems {
		if taken == maxFilenames {
			return
		}
		taken++
		w.Add(sdkplugin.FactFile, name.Str())
	}
}

// gitOperation adds what the client's own result object says about version control.
func (w *factWalk) gitOperation(op canonical.Value) {
	w.Add(sdkplugin.FactCommit, op.Get("commit").Get("sha").Str())
	w.Add(sdkplugin.FactBranch, op.Get("push").Get("branch").Str())
	w.Add(sdkplugin.FactBranch, op.Get("branch").Get("ref").Str())
	w.Add(sdkplugin.FactPullRequest, number(op.Get("pr").Get("number")))
	w.Add(sdkplugin.FactURL, op.Get("pr").Get("url").Str())
}

// number returns an integer in decimal digits, or a string that a client wrote in its place.
func number(v canonical.Value) []byte {
	if v.IsInteger() {
		return v.Raw()
	}
	return bytes.TrimSpace(v.Str())
}
