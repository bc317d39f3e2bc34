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
		"target_file", "targetFile", "target_notebook", "absolutePath", "target_directories text", "relative_workspace_path text"},
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
type factWalk struct{ facts.Walk }

// value walks a value.
func (w *factWalk) value(v canonical.Value) {
	w.Distinct(&factKeys, v)
	w.Settle()
}
