package record

import (
	"bytes"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// Verdict says what a contribution to an event is with regard to retrieval by ctx itself.
type Verdict uint8

// Verdicts. Whatever is not proven is unknown and stays searchable.
const (
	VerdictUnknown  Verdict = iota
	VerdictDerived          // retrieval by ctx: its text comes from the index
	VerdictOrdinary         // a use of ctx that retrieves nothing
)

// Limits of the commands that are looked at, in bytes.
const (
	maxCommandInput = 256 << 10 // arguments as captured
	maxCommandText  = 64 << 10  // command line, trimmed
	maxCommandWords = 1024
)

// execTools are the tools that run a command line, whatever the case of their letters: Claude Code has Bash, Cursor has Shell.
var execTools = []string{"exec", "exec_command", "shell", "bash", "command"}

// commandMembers are the names under which the arguments of such a tool hold the command line.
var commandMembers = []string{"cmd", "command", "shell_command"}

// mcpServer is the name under which ctx serves MCP; mcpTools are its tools that retrieve.
const mcpServer = "ctx"

var mcpTools = []string{"search", "show_event", "show_session", "query_events", "blame"}

// mcpProtocol is the protocol name of an exact MCP call.
const mcpProtocol = "mcp"

// Combine gives the verdict on an event with several contributions: any ordinary one makes it ordinary, it is derived when all are,
// and unknown otherwise. No contribution is unknown.
func Combine(verdicts ...Verdict) Verdict {
	switch {
	case slices.Contains(verdicts, VerdictOrdinary):
		return VerdictOrdinary
	case len(verdicts) == 0 || slices.Contains(verdicts, VerdictUnknown):
		return VerdictUnknown
	}
	return VerdictDerived
}

// RetrievalMCP gives the verdict on an exact MCP call. Other servers are unknown.
func RetrievalMCP(server, tool string) Verdict {
	switch {
	case server != mcpServer:
		return VerdictUnknown
	case slices.Contains(mcpTools, tool):
		return VerdictDerived
	}
	return VerdictOrdinary
}

// unquoted removes what may stand between the letters of a word.
var unquoted = strings.NewReplacer("'", "", `"`, "", `\`, "")

// RetrievalCommand gives the verdict on a shell command line: derived only when it is one plain call of ctx on a retrieval route with
// valid options, so that it cannot print anything but an answer of ctx.
func RetrievalCommand(command string) Verdict {
	if len(command) > maxCommandInput {
		return VerdictUnknown
	}
	command = strings.TrimSpace(command)
	// Nearly all commands are of other programs: they end here.
	if len(command) > maxCommandText || !strings.HasPrefix(unquoted.Replace(command[:min(len(command), 16)]), "ctx") {
		return VerdictUnknown
	}
	words, ok := splitCommand(command)
	if !ok || words[0] != "ctx" && words[0] != "ctx.exe" {
		return VerdictUnknown
	}
	return routeVerdict(words[1:])
}

// RetrievalArguments gives the verdict on the captured arguments (JSON) of a tool that runs a command line: an object, a string that
// holds one, or the bare command line.
func RetrievalArguments(arguments []byte) Verdict {
	if len(arguments) > maxCommandInput {
		return VerdictUnknown
	}
	var doc canonical.Doc
	if doc.Parse(arguments) != nil {
		return VerdictUnknown
	}
	root := doc.Root()
	if root.IsString() {
		text := bytes.Clone(root.Str())
		if doc.Parse(text) != nil || !doc.Root().IsObject() {
			return RetrievalCommand(string(text))
		}
		root = doc.Root()
	}
	if !root.IsObject() {
		return VerdictUnknown
	}
	command, found := "", 0
	for _, key := range commandMembers {
		found += root.CountKey(key)
		if member := root.Get(key); member.IsString() {
			command = string(member.Str())
		}
	}
	if found != 1 {
		return VerdictUnknown
	}
	return RetrievalCommand(command)
}

// invocationVerdict gives the verdict on the invocation of an event.
func invocationVerdict(e *Event) Verdict {
	call := e.Activity.Invocation
	if call.Protocol == mcpProtocol {
		return RetrievalMCP(call.Server, call.Tool)
	}
	if !mayRetrieve(call.Protocol, call.Server, call.Tool) || call.Arguments.Status != CapturePresent {
		return VerdictUnknown
	}
	return RetrievalArguments(e.bytesOf(call.Arguments.Value, nil))
}

// mayRetrieve tells, from the names alone, whether an invocation is worth a look.
func mayRetrieve(protocol, server, tool string) bool {
	if protocol == mcpProtocol {
		return server == mcpServer
	}
	return protocol == "" && server == "" && slices.ContainsFunc(execTools, func(name string) bool { return strings.EqualFold(name, tool) })
}
