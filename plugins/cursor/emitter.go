package cursor

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/facts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

type sink = transcript.Sink

// Bodies of calls and results that have no text of their own.
const (
	callWithoutInput  = "Cursor tool call"
	resultWithoutText = "Cursor tool result"
)

const (
	sizeLimit     = "size_limit"
	tooManyEvents = "more events than one record may give"
)

// emitter makes the events of one session, whatever its store, in one draft that it keeps.
type emitter struct {
	id, parent sessionID
	root       sessionID // of parent
	out        sink      // nil: only what is learned counts
	session    uint32
	declared   bool
	learned    *learned
	prompts    int // messages of the user

	transcript.Draft
	walk factWalk
	keys []byte
}

func (e *emitter) begin(id, parent, root sessionID, out sink) {
	e.id, e.parent, e.root, e.out, e.declared, e.learned, e.prompts = id, parent, root, out, false, newLearned(), 0
}

// declare tells the host about the session, once.
func (e *emitter) declare() (err error) {
	if !e.declared && e.out != nil {
		e.session, err = e.out.Session(e.id.declaration(e.parent, e.root))
		e.declared = err == nil
	}
	return err
}

// draft starts an event.
func (e *emitter) draft(typ, role string, sequence uint64, at sdkplugin.Instant) {
	e.walk.Reset()
	e.Event = sdkplugin.Event{Kind: eventKind, Type: typ, Role: role, Sequence: sequence, At: at, Scope: sdkplugin.ScopePrimary}
	if e.parent != "" {
		e.Event.Scope = sdkplugin.ScopeSubagent
	}
}

// said starts an event that is a text. A user's text that is only context of Cursor's own is a notice; what a person typed may
// become the title.
func (e *emitter) said(role string, text []byte, sequence uint64, at sdkplugin.Instant) {
	typ := sdkplugin.Message
	if role == sdkplugin.RoleUser {
		e.learned.context(contextOf(text))
		if typed(text) {
			e.learned.prompt(text)
			e.prompts++
		} else {
			typ, role = sdkplugin.Notice, sdkplugin.RoleSystem
		}
	}
	e.draft(typ, role, sequence, at)
	e.Event.Body = sdkplugin.Inline(text)
}

// silent gives the draft of a result the empty text that it has; a capture cannot lean on a body that says nothing.
func (e *emitter) silent() sdkplugin.Capture {
	e.Event.Body = sdkplugin.Inline("")
	return sdkplugin.Present(e.Event.Body)
}

// returned makes the draft the result of a call, if the id of that is known.
func (e *emitter) returned(id []byte, status string, text, structured sdkplugin.Capture) {
	if !e.SetCallID(id) {
		return
	}
	e.Result = sdkplugin.Result{Status: status, CompletedAt: e.Event.At, Text: text, Structured: structured}
	e.Event.Result = &e.Result
}

// give finishes the draft and hands it out.
func (e *emitter) give(key sdkplugin.NativeKey) error {
	e.Event.Key, e.Event.Facts = key, e.walk.List
	e.learned.Times.Learn(e.Event.At)
	if e.out == nil {
		return nil
	}
	if err := e.declare(); err != nil {
		return err
	}
	e.Event.Session = e.session
	e.fit()
	return e.out.Event(&e.Event)
}

// fit leaves the structured content out of an event that would be too large with it, and what consisted of its pieces.
func (e *emitter) fit() {
	if len(e.Event.Structured)+len(e.Event.Body.Bytes) <= sdkplugin.MaxEventContent {
		return
	}
	left := sdkplugin.Omitted(sizeLimit, uint64(len(e.Event.Structured)))
	if e.Event.Invocation != nil {
		e.Event.Invocation.Arguments = left
	}
	e.Event.Structured, e.Event.Body = nil, sdkplugin.Inline(callWithoutInput)
	if e.Event.Type == sdkplugin.ToolOutput {
		e.Event.Body = sdkplugin.Inline(resultWithoutText)
	}
	if e.Event.Result != nil {
		e.Event.Result.Text, e.Event.Result.Structured = left, left
	}
}

func isRedacted(text []byte) bool { return bytes.Equal(bytes.TrimSpace(text), redacted) }

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
