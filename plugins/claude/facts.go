package claude

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/facts"
)

// maxFilenames is how many entries of a search result's file list become facts.
const maxFilenames = 200

// factKeys holds the recognised keys. There are 40 of facts, so that an object with more than 64 of them repeats one.
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
	0:                         {"data", "base64", "blob", "encrypted_content"},
})

// unstoredKeys may name something that is not stored: encoded binaries, encrypted content.
var unstoredKeys = factKeys.Bits("data", "base64", "blob", "encrypted_content")

// factWalk collects the facts of one block.
type factWalk struct{ facts.Walk }

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
