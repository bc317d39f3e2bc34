package claude

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/facts"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// blockKind says what a block of message.content gives.
type blockKind uint8

const (
	silentBlock  blockKind = iota // thinking, images, documents and unknown ones: no event, never copied
	textBlock                     // a part of the record's text
	callBlock                     // a tool call
	resultBlock                   // the result of a tool call
	serverResult                  // the result of a call that the API ran itself
)

func kindOf(typ []byte) blockKind {
	switch string(typ) {
	case "text":
		return textBlock
	case "tool_use", "server_tool_use", "mcp_tool_use":
		return callBlock
	case "tool_result":
		return resultBlock
	}
	if bytes.HasSuffix(typ, []byte("_tool_result")) {
		return serverResult
	}
	return silentBlock
}

// channel is a part of a block that a repeated key makes unreadable.
type channel uint8

const (
	callIDChannel channel = 1 << iota
	toolNameChannel
	argumentsChannel
	contentChannel
	mcpChannel
	otherChannel // the type: only the structured copy suffers
)

// member numbers the members of a block that anything looks at. Of the last five only a repetition matters.
type member uint8

const (
	typeMember member = iota
	idMember
	nameMember
	textMember
	inputMember
	contentMember
	isErrorMember
	callIDMember // of the call that a result belongs to, then two more names of it by strength
	callID2Member
	callID3Member
	protocolMember
	serverMember
	toolMember
	argumentsMember
	argsMember
	resultMember
	outputMember
	members
)

// blockMembers holds the names of the members and the channels that their repetition makes unreadable.
var blockMembers = map[string]struct {
	at      member
	channel channel
}{
	"type": {typeMember, otherChannel}, "id": {idMember, callIDChannel}, "name": {nameMember, toolNameChannel},
	"text": {textMember, 0}, "is_error": {isErrorMember, 0},
	"input": {inputMember, argumentsChannel}, "arguments": {argumentsMember, argumentsChannel}, "args": {argsMember, argumentsChannel},
	"content": {contentMember, contentChannel}, "result": {resultMember, contentChannel}, "output": {outputMember, contentChannel},
	"tool_use_id": {callIDMember, callIDChannel}, "toolUseId": {callID2Member, callIDChannel}, "toolCallId": {callID3Member, callIDChannel},
	"protocol": {protocolMember, mcpChannel}, "server": {serverMember, mcpChannel}, "tool": {toolMember, mcpChannel},
}

// block is one block with its members, each the last one of its name.
type block struct {
	v        canonical.Value
	kind     blockKind
	m        [members]canonical.Value
	repeated channel // the channels whose key stands twice; not zero withholds the structured copy
}

// read takes the members of a block and checks their types. A defect is the reason to reject the record.
func (b *block) read(v canonical.Value) (defect string) {
	*b = block{v: v}
	for key, value := range v.Each {
		if known, ok := blockMembers[string(key)]; ok {
			if b.m[known.at].Exists() {
				b.repeated |= known.channel
			}
			b.m[known.at] = value
		}
	}
	b.kind = kindOf(b.m[typeMember].Str())
	idLimit := maxField
	if b.kind == callBlock {
		idLimit = maxCallID
	}
	switch {
	case !fits(b.m[typeMember], maxField):
		return "block type is no short string"
	case !fits(b.m[idMember], idLimit):
		return "block id is no short string"
	case !fits(b.m[nameMember], maxField):
		return "block name is no short string"
	case !b.m[textMember].IsNull() && !b.m[textMember].IsString():
		return "block text is no string"
	}
	for _, id := range b.m[callIDMember : callID3Member+1] {
		if !fits(id, maxCallID) {
			return "call id is no short string"
		}
	}
	return ""
}

// lost tells whether a repeated key makes a channel unreadable.
func (b *block) lost(c channel) bool { return b.repeated&c != 0 }

// str returns the text of a member unless a repeated key makes it unreadable.
func (b *block) str(at member, c channel) []byte {
	if b.lost(c) {
		return nil
	}
	return b.m[at].Str()
}

// resultCallID returns the id of the call that a result belongs to, exactly as written; empty if unknown.
func (b *block) resultCallID() []byte {
	for at := callIDMember; at <= callID3Member; at++ {
		if id := b.str(at, callIDChannel); len(id) > 0 {
			return id
		}
	}
	return nil
}

// mcp returns server and tool of a call that names its MCP identity itself, each on its own; nil for all others. A joined name
// is never split.
func (b *block) mcp() (server, tool []byte) {
	server, tool = b.str(serverMember, mcpChannel), b.str(toolMember, mcpChannel)
	if !b.m[protocolMember].StrEquals("mcp") || len(server) == 0 || len(tool) == 0 {
		return nil, nil
	}
	return server, tool
}

// outline is the content of a message sorted by what it gives.
type outline struct {
	texts         []canonical.Value // not blank
	calls         []block
	results       []block // innermost first where they nest
	serverResults []block
	textBytes     int
}

func (o *outline) reset() {
	o.texts, o.calls, o.results, o.serverResults = o.texts[:0], o.calls[:0], o.results[:0], o.serverResults[:0]
	o.textBytes = 0
}

// read sorts the content of a message: a string, blocks, or one block. A defect is the reason to reject the record.
func (o *outline) read(content canonical.Value) (defect string) {
	switch content.Kind() {
	case canonical.String:
		o.addText(content)
	case canonical.Object:
		return o.block(content)
	}
	for element := range content.Elems {
		if element.IsObject() && defect == "" {
			defect = o.block(element)
		}
	}
	return defect
}

func (o *outline) block(v canonical.Value) (defect string) {
	var b block
	if defect = b.read(v); defect != "" {
		return defect
	}
	if defect = o.nested(b.m[contentMember]); defect != "" {
		return defect
	}
	switch b.kind {
	case textBlock:
		o.addText(b.m[textMember])
	case callBlock:
		o.calls = append(o.calls, b)
	case resultBlock:
		o.results = append(o.results, b)
	case serverResult:
		o.serverResults = append(o.serverResults, b)
	}
	return ""
}

// nested looks for tool results inside the content of a block.
func (o *outline) nested(content canonical.Value) (defect string) {
	for element := range content.Elems {
		if defect = o.nested(element.Get("content")); defect != "" {
			return defect
		}
		if kindOf(element.Get("type").Str()) != resultBlock {
			continue
		}
		var b block
		if defect = b.read(element); defect != "" {
			return defect
		}
		o.results = append(o.results, b)
	}
	return ""
}

func (o *outline) addText(v canonical.Value) {
	text := v.Str()
	if texts.Blank(text) {
		return
	}
	o.texts = append(o.texts, v)
	o.textBytes += len(text) + 1
}

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
