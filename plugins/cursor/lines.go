package cursor

import (
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/digest"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// lines maps the records of a transcript. Their events have no ids of their own: what an event says is its id, with the number of
// earlier events that say the same.
type lines struct {
	emitter
	occurrences digest.Counter
	sum         contentDigest

	doc     *canonical.Doc
	rec     record
	ordinal uint64
	part    int               // of the next event of the record
	given   int               // events of the record
	at      sdkplugin.Instant // of the record's events
	block   block
	texts   []canonical.Value
}

// begin makes a scanner ready for a transcript.
func (s *scanner) begin(id sessionID, out sink) {
	m := &s.lines
	m.emitter.begin(id, id.parent(), id.parent(), out)
	m.doc, s.Whole = &s.Doc, true
	if clear(m.occurrences); m.occurrences == nil {
		m.occurrences = digest.Counter{}
	}
}

// Known is not asked: nothing is taken out of damaged lines.
func (m *lines) Known(canonical.Value) bool { return false }

// Record maps one record.
func (m *lines) Record(at transcript.Place, v canonical.Value) (outcome transcript.Outcome, err error) {
	r := &m.rec
	m.ordinal, m.part, m.given = at.Line.Ordinal, 0, 0
	defect := r.read(v)
	if defect == "" {
		m.at = r.at
		err = m.events()
	}
	switch {
	case defect != "":
		return transcript.Outcome{Rejected: defect, PayloadType: texts.Short(r.typ.Str(), 64)}, nil
	case m.given > 0:
		outcome.Retained = true
	}
	return outcome, err
}

// events gives the events of the record.
func (m *lines) events() error {
	r := &m.rec
	role := roleOf(r.role)
	switch {
	case r.is("turn_ended"):
		if text := r.root.Get("error").Str(); r.status.StrEquals("error") && !texts.Blank(text) {
			return m.text(sdkplugin.Notice, sdkplugin.RoleSystem, text)
		}
		return nil
	case r.is("summary"):
		text := m.textOf(r.content)
		if len(text) == 0 {
			text = r.root.Get("summary").Str()
		}
		if texts.Blank(text) {
			return nil
		}
		return m.text(sdkplugin.Summary, sdkplugin.RoleSystem, text)
	case role == "":
		return nil
	case role == sdkplugin.RoleTool && !m.holdsResults():
		return m.toolRecord()
	case role == sdkplugin.RoleUser:
		m.timeOfTag()
	}
	if r.content.IsString() {
		return m.spoken(role, r.content)
	}
	return m.blocks(role)
}

// blocks gives the events of a content of blocks.
func (m *lines) blocks(role string) (err error) {
	for element := range m.rec.content.Elems {
		if !element.IsObject() {
			continue
		}
		b := &m.block
		b.read(element)
		switch string(b.v.Get("type").Str()) {
		case "text":
			err = m.spoken(role, b.v.Get("text"))
		case "tool_use":
			if role == sdkplugin.RoleAssistant {
				err = m.call()
			}
		case "tool_result":
			err = m.output(b.v)
		case "command_output":
			text := b.str("text")
			if len(text) == 0 {
				text = m.textOf(b.v.Get("content"))
			}
			if !texts.Blank(text) {
				err = m.text(sdkplugin.CommandOutput, sdkplugin.RoleTool, text)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spoken gives a text that stands under a role. Empty and redacted ones take a number and give nothing.
func (m *lines) spoken(role string, v canonical.Value) error {
	text := v.Str()
	switch {
	case texts.Blank(text), isRedacted(text):
		m.part++
		return nil
	case role == sdkplugin.RoleUser, role == sdkplugin.RoleAssistant:
		c := content{typ: sdkplugin.Message, role: role, tag: "text", value: v}
		m.said(role, text, m.sequence(), m.at)
		return m.give(&c)
	}
	return m.text(sdkplugin.Notice, sdkplugin.RoleSystem, text)
}

// roleOf returns a role, without a copy if it is a known one.
func roleOf(v canonical.Value) string {
	text := v.Str()
	for _, known := range [...]string{sdkplugin.RoleUser, sdkplugin.RoleAssistant, sdkplugin.RoleSystem, sdkplugin.RoleTool} {
		if string(text) == known {
			return known
		}
	}
	return string(text)
}

// text gives an event that is a text and nothing else.
func (m *lines) text(typ, role string, text []byte) error {
	m.draft(typ, role, m.sequence(), m.at)
	m.Event.Body = sdkplugin.Inline(text)
	return m.give(&content{typ: typ, role: role, tag: "text", text: text})
}

// call gives a tool call. Its body is the whole block, of which the arguments are a piece.
func (m *lines) call() error {
	b := &m.block
	m.draft(sdkplugin.ToolCall, sdkplugin.RoleAssistant, m.sequence(), m.at)
	m.walk.value(b.v)
	input := b.v.Get("input")
	if input.IsNull() {
		input = b.v.Get("arguments")
	}
	m.learned.workdir(input.Get("working_directory").Str())
	m.Store(b.v, input)
	m.Event.Body = m.Whole()
	c := content{typ: sdkplugin.ToolCall, role: sdkplugin.RoleAssistant, tag: "tool_call", value: b.v, stored: m.Event.Structured}
	var arguments sdkplugin.Capture
	switch {
	case b.repeated():
		m.Event.Structured, m.Event.Body = nil, sdkplugin.Inline(callWithoutInput)
		arguments = sdkplugin.Unavailable()
	case !input.IsNull():
		arguments = sdkplugin.Present(m.Pieces(m.Marks, false))
	}
	if !b.lostID && !b.lostName && m.Call(b.str("id"), texts.View(b.str("name")), arguments) && b.v.Get("protocol").StrEquals("mcp") {
		m.MCP(b.str("server"), b.str("tool"))
	}
	return m.give(&c)
}

// output gives the result of a call; v is what holds it, the block or a whole message.
func (m *lines) output(v canonical.Value) error {
	b := &m.block
	m.draft(sdkplugin.ToolOutput, sdkplugin.RoleTool, m.sequence(), m.at)
	m.walk.value(v)
	if m.texts = m.texts[:0]; !b.lostContent {
		m.texts = appendTexts(m.texts, b.v.Get("content"))
	}
	m.Store(v, m.texts...)
	c := content{typ: sdkplugin.ToolOutput, role: sdkplugin.RoleTool, tag: "tool_output", value: v, stored: m.Event.Structured}
	text, structured, status := sdkplugin.SameAsBody(), sdkplugin.Unavailable(), ""
	switch {
	case b.lostContent:
		text = sdkplugin.Unavailable()
		m.Event.Body = sdkplugin.Inline(resultWithoutText)
	case len(m.texts) == 0:
		text = sdkplugin.Capture{}
		m.Event.Body = sdkplugin.Inline(resultWithoutText)
	case len(m.texts) == 1 && len(m.texts[0].Str()) == 0:
		text = m.silent()
	case b.repeated() || len(m.Marks) == 0:
		m.Event.Body = sdkplugin.Inline(m.Join(m.texts))
	default:
		m.Event.Body = m.Pieces(m.Marks, true)
	}
	if b.repeated() {
		m.Event.Structured = nil
	} else {
		structured = sdkplugin.Present(m.Whole())
	}
	if failed, _ := b.v.Get("is_error").Bool(); failed {
		status = "error"
	}
	if !b.lostID {
		m.returned(b.str("tool_use_id", "toolUseId", "toolCallId"), status, text, structured)
	}
	return m.give(&c)
}

// holdsResults tells whether a content has blocks of results.
func (m *lines) holdsResults() bool {
	for element := range m.rec.content.Elems {
		if element.Get("type").StrEquals("tool_result") {
			return true
		}
	}
	return false
}

// toolRecord gives the result that a whole record of the role tool is.
func (m *lines) toolRecord() error {
	if texts.Blank(m.textOf(m.rec.content)) {
		return nil
	}
	m.block.read(m.rec.holder)
	return m.output(m.rec.holder)
}

// textOf returns what a content says, its texts joined with LF.
func (m *lines) textOf(content canonical.Value) []byte {
	m.texts = appendTexts(m.texts[:0], content)
	return m.Join(m.texts)
}

// timeOfTag gives a record without a time of its own the one that its context states with a zone. Ids do not depend on it.
func (m *lines) timeOfTag() {
	if m.rec.content.IsString() && !m.at.Known {
		m.at = zonedTime(m.rec.content.Str())
	}
	for element := range m.rec.content.Elems {
		if m.at.Known {
			return
		}
		if element.Get("type").StrEquals("text") {
			m.at = zonedTime(element.Get("text").Str())
		}
	}
}

func zonedTime(text []byte) sdkplugin.Instant {
	if t, ok := tagTimeOf(contextOf(text)); ok && t.zoned {
		return plausible(t.at)
	}
	return sdkplugin.Instant{}
}

func (m *lines) sequence() uint64 { return m.ordinal<<16 + uint64(m.part) }

// give hands the draft out under the digest of what it says.
func (m *lines) give(c *content) error {
	c.at, c.doc = m.rec.at, m.doc
	sum := m.sum.of(c)
	m.keys = sdkplugin.AppendComposite(m.keys[:0], lineNamespace, 6)
	m.keys = sdkplugin.AppendUtf8(m.keys, lineNamespace)
	m.keys = sdkplugin.AppendUtf8(m.keys, c.typ)
	m.keys = sdkplugin.AppendUtf8(m.keys, c.role)
	if c.at.Known {
		m.keys = append(m.keys, sdkplugin.I64(c.at.Millis)...)
	} else {
		m.keys = sdkplugin.AppendNull(m.keys)
	}
	m.keys = sdkplugin.AppendBytes(m.keys, sum[:])
	m.keys = sdkplugin.AppendU64(m.keys, m.occurrences.Next(digest.Print(sum[:16])))
	m.part++
	m.given++
	return m.emitter.give(m.keys)
}
