package cursor

import (
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/facts"
)

// factKeys holds the recognised keys, fewer than 64, so that an object with more of them repeats one.
var factKeys = facts.NewTable(map[sdkplugin.FactKind][]string{
	sdkplugin.FactToolWorkdir: {"cwd", "workdir", "working_directory"},
	sdkplugin.FactFile: {"file", "file_path", "filePath", "path", "paths", "old_path", "new_path", "notebook_path", "notebookPath",
		"target_file", "targetFile", "target_notebook", "absolutePath", "target_directories", "relative_workspace_path"},
	sdkplugin.FactURL:         {"url", "uri", "repository_url", "repositoryUrl", "remote_url"},
	sdkplugin.FactForge:       {"forge", "forge_url"},
	sdkplugin.FactProject:     {"project", "project_id", "repository", "repo"},
	sdkplugin.FactVCS:         {"vcs", "git"},
	sdkplugin.FactCommit:      {"commit", "commit_id", "commit_sha", "sha"},
	sdkplugin.FactPullRequest: {"pull_request", "pullRequest", "pr", "pr_id"},
	sdkplugin.FactCommand:     {"command", "cmd"},
	sdkplugin.FactBranch:      {"branch", "branch_name"},
	sdkplugin.FactWorkspace:   {"workspace", "workspace_id"},
})

// factWalk collects the facts of one event.
type factWalk struct {
	facts.Collector
	void bool // the value gives no facts
}

// value walks a value, depth first in the order of the text. It gives no facts when an object names a recognised key twice.
func (w *factWalk) value(v canonical.Value) {
	w.void = false
	start := len(w.List)
	w.walk(v)
	if w.void {
		w.List = w.List[:start]
	}
	w.Settle()
}

func (w *factWalk) walk(v canonical.Value) {
	switch v.Kind() {
	case canonical.Array:
		for element := range v.Elems {
			w.walk(element)
		}
	case canonical.Object:
		var seen uint64
		for key, m := range v.Each {
			if k, ok := factKeys.Look(key); ok {
				w.void = w.void || seen&k.Bit != 0
				seen |= k.Bit
				if name := string(key); m.IsString() || name != "target_directories" && name != "relative_workspace_path" {
					w.AddValue(k.Kind, m)
				}
			}
			w.walk(m)
		}
	}
}
