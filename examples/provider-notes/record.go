package main

import (
	"bytes"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// maxTitle is how many characters of the first note make the title.
const maxTitle = 200

// record maps one line to its event.
func (s *scan) record(line *jsonl.Line, record canonical.Value) error {
	kind := string(record.Get("kind").Str())
	at := instant(record.Get("at"))
	if kind == "open" {
		if dir := record.Get("dir").Str(); len(dir) <= sdkplugin.MaxString {
			s.state.Directory = string(dir)
		}
		s.state.saw(at)
		s.out.Ignore(1) // says nothing that a person would look for
		return nil
	}
	id := record.Get("id").Str()
	if len(id) == 0 {
		return s.reject(line, kind, "a record without an id")
	}
	e := sdkplugin.Event{
		Session: s.session, Kind: eventKind, Key: sdkplugin.NativeID(eventSpace, sdkplugin.Utf8(string(id))),
		Sequence: line.Ordinal, At: at,
	}
	if s.state.Directory != "" {
		e.Facts = append(e.Facts, sdkplugin.Fact{Kind: sdkplugin.FactSessionCWD, Value: s.state.Directory})
	}
	kept := false // a newer version of the agent may write kinds that are unknown here
	switch kind {
	case "note":
		kept = s.note(&e, record)
	case "run":
		kept = s.run(&e, record)
	case "output":
		kept = s.output(&e, record)
	}
	if !kept {
		s.out.Ignore(1)
		return nil
	}
	s.state.saw(at)
	s.out.Retain(1)
	return s.out.Event(&e)
}

// note is {"kind":"note","id":"n1","by":"me","text":"buy milk","at":"..."}.
func (s *scan) note(e *sdkplugin.Event, record canonical.Value) bool {
	e.Type, e.Role = sdkplugin.Message, sdkplugin.RoleAssistant
	text := record.Get("text").Str()
	if len(bytes.TrimSpace(text)) == 0 {
		return false
	}
	if record.Get("by").StrEquals("me") {
		e.Role = sdkplugin.RoleUser
		if s.state.Title == "" {
			s.state.Title = title(string(text))
		}
	}
	e.Body = sdkplugin.Inline(text)
	return true
}

// run is {"kind":"run","id":"n2","call":"c1","tool":"shell","input":{...},"at":"..."}.
func (s *scan) run(e *sdkplugin.Event, record canonical.Value) bool {
	e.Type, e.Role = sdkplugin.ToolCall, sdkplugin.RoleAssistant
	// The record is kept as it is, and the text to search and the arguments
	// are the place of the input in it: nothing travels twice.
	input := s.keep(e, record, "input")
	e.Body = input
	call, tool := record.Get("call").Str(), record.Get("tool").Str()
	if len(call) > 0 && len(tool) > 0 {
		e.CallID = sdkplugin.Utf8(string(call))
		e.Invocation = &sdkplugin.Invocation{Tool: string(tool), StartedAt: e.At}
		if input.Present {
			e.Invocation.Arguments = sdkplugin.Present(input)
		}
	}
	if command := record.Get("input").Get("command").Str(); len(command) > 0 && len(command) <= sdkplugin.MaxString {
		e.Facts = append(e.Facts, sdkplugin.Fact{Kind: sdkplugin.FactCommand, Value: string(command)})
	}
	if file := record.Get("input").Get("file").Str(); len(file) > 0 && len(file) <= sdkplugin.MaxFileFact {
		e.Facts = append(e.Facts, sdkplugin.Fact{Kind: sdkplugin.FactFile, Value: string(file)})
	}
	return true
}

// output is {"kind":"output","id":"n3","call":"c1","text":"ok","error":false,"at":"..."}.
func (s *scan) output(e *sdkplugin.Event, record canonical.Value) bool {
	e.Type, e.Role = sdkplugin.ToolOutput, sdkplugin.RoleTool
	text, call := record.Get("text").Str(), record.Get("call").Str()
	if len(text) == 0 && len(call) == 0 {
		return false
	}
	captured := sdkplugin.Present(sdkplugin.Inline("")) // the tool said nothing, and that is known
	if len(text) > 0 {
		e.Body = sdkplugin.Inline(text)
		captured = sdkplugin.SameAsBody()
	}
	if len(call) == 0 {
		return true
	}
	e.CallID = sdkplugin.Utf8(string(call))
	e.Result = &sdkplugin.Result{CompletedAt: e.At, Text: captured}
	if failed, ok := record.Get("error").Bool(); ok && failed {
		e.Result.Status = "error"
	}
	return true
}

// keep makes the record the event's structured content and returns the place
// of a member in it.
func (s *scan) keep(e *sdkplugin.Event, record canonical.Value, member string) sdkplugin.Value {
	mark := []canonical.Mark{{Value: record.Get(member)}}
	s.raw = canonical.AppendMarked(s.raw[:0], record, mark)
	e.Structured = s.raw
	if !mark[0].Found {
		return sdkplugin.Value{}
	}
	return sdkplugin.Pieces(sdkplugin.Span{Offset: uint32(mark[0].Start), Length: uint32(mark[0].End - mark[0].Start)})
}

// title is the first line of a note.
func title(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	characters := []rune(strings.Join(strings.Fields(line), " "))
	return string(characters[:min(len(characters), maxTitle)])
}
