package main

import (
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/facts"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// mapping maps the records of one file, each to one event in memory that it keeps. The scanner counts what becomes of them.
type mapping struct {
	transcript.Draft
	facts   facts.Collector
	out     *sdkplugin.SourceWriter
	session uint32
	state   progress
}

// Known tells whether an object found in a damaged line is a record.
func (m *mapping) Known(object canonical.Value) bool { return object.Get("kind").IsString() }

// Record maps one record.
func (m *mapping) Record(at transcript.Place, record canonical.Value) (transcript.Outcome, error) {
	kind, id := string(record.Get("kind").Str()), record.Get("id").Str()
	when, timed := texts.ParseTime(record.Get("at").Str())
	instant := sdkplugin.Instant{Millis: when.UnixMilli(), Known: timed}
	if kind == "open" { // says nothing that a person would look for
		if dir := record.Get("dir").Str(); len(dir) <= sdkplugin.MaxString {
			m.state.Directory = string(dir)
		}
		m.state.Times.Learn(instant)
		return transcript.Outcome{}, nil
	}
	if len(id) == 0 {
		return transcript.Outcome{Rejected: "a record without an id", PayloadType: kind}, nil
	}
	m.Event = sdkplugin.Event{
		Session: m.session, Kind: eventKind, Key: sdkplugin.NativeID(eventSpace, sdkplugin.Utf8(string(id))),
		Sequence: at.Line.Ordinal, Suborder: uint32(at.Nth), At: instant,
	}
	m.facts.Reset()
	m.facts.Add(sdkplugin.FactSessionCWD, []byte(m.state.Directory))
	kept := false // a newer version of the agent may write kinds that are unknown here
	switch kind {
	case "note":
		kept = m.note(record)
	case "run":
		kept = m.run(record)
	case "output":
		kept = m.output(record)
	}
	if !kept {
		return transcript.Outcome{}, nil
	}
	m.state.Times.Learn(instant)
	m.Event.Facts = m.facts.List
	return transcript.Retained, m.out.Event(&m.Event)
}

// note is {"kind":"note","id":"n1","by":"me","text":"buy milk","at":"..."}.
func (m *mapping) note(record canonical.Value) bool {
	e := &m.Event
	e.Type, e.Role = sdkplugin.Message, sdkplugin.RoleAssistant
	text := record.Get("text").Str()
	if texts.Blank(text) {
		return false
	}
	if record.Get("by").StrEquals("me") {
		e.Role = sdkplugin.RoleUser
		if m.state.Title == "" {
			m.state.Title = texts.OneLine(text)
		}
	}
	e.Body = sdkplugin.Inline(text)
	return true
}

// run is {"kind":"run","id":"n2","call":"c1","tool":"shell","input":{...},"at":"..."}.
func (m *mapping) run(record canonical.Value) bool {
	e, input := &m.Event, record.Get("input")
	e.Type, e.Role = sdkplugin.ToolCall, sdkplugin.RoleAssistant
	// The record is kept as it is, and the text to search and the arguments are the place of the input in it: nothing travels
	// twice.
	m.Store(record, input)
	if input.Exists() {
		e.Body = m.Piece(0, false)
	}
	if tool := record.Get("tool").Str(); len(tool) > 0 && m.SetCallID(record.Get("call").Str()) {
		e.Invocation = &sdkplugin.Invocation{Tool: string(tool), StartedAt: e.At}
		if input.Exists() {
			e.Invocation.Arguments = sdkplugin.Present(e.Body)
		}
	}
	m.facts.Add(sdkplugin.FactCommand, input.Get("command").Str())
	m.facts.Add(sdkplugin.FactFile, input.Get("file").Str())
	return true
}

// output is {"kind":"output","id":"n3","call":"c1","text":"ok","error":false,"at":"..."}.
func (m *mapping) output(record canonical.Value) bool {
	e, text := &m.Event, record.Get("text").Str()
	e.Type, e.Role = sdkplugin.ToolOutput, sdkplugin.RoleTool
	captured := sdkplugin.Present(sdkplugin.Inline("")) // the tool said nothing, and that is known
	if len(text) > 0 {
		e.Body = sdkplugin.Inline(text)
		captured = sdkplugin.SameAsBody()
	}
	if m.SetCallID(record.Get("call").Str()) {
		e.Result = &sdkplugin.Result{CompletedAt: e.At, Text: captured}
		if failed, _ := record.Get("error").Bool(); failed {
			e.Result.Status = "error"
		}
	}
	return len(text) > 0 || e.Result != nil
}
