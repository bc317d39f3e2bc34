package cursor

import (
	"crypto/sha256"
	"errors"
	"hash"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/sqlitesnap"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// rows maps what databases hold. Its events have the ids of their rows.
type rows struct {
	emitter
	doc, inner canonical.Doc // of a row, and of JSON in one of its strings
	composer   canonical.Doc
	row        []byte // what doc was parsed from
	composed   []byte // what composer was parsed from
	sum        hash.Hash
	read       uint64
	grown      bool // a long value has made the memory large

	key      func() sdkplugin.NativeKey // of the next event
	sequence uint64                     // of the row's first event
	part     uint64
	given    int
	at       sdkplugin.Instant
	model    []byte
	files    canonical.Value // a bubble whose files are not given yet
	json     []byte
}

func (r *rows) start() {
	r.sum, r.read, r.files, r.model = sha256.New(), 0, canonical.Value{}, nil
}

// keptBytes is the longest value whose memory is kept from one session to the next.
const keptBytes = 1 << 20

// took accounts for the bytes of a value and reports progress.
func (r *rows) took(c *sqlitesnap.Cell) error {
	r.grown = r.grown || len(c.Bytes) > keptBytes
	r.sum.Write(c.Bytes)
	before := r.read
	r.read += uint64(len(c.Bytes))
	if r.out == nil || before>>20 == r.read>>20 {
		return nil
	}
	return r.out.Progress(r.read)
}

// spoken gives a text that stands under a role.
func (r *rows) spoken(role string, text []byte) error {
	if texts.Blank(text) || isRedacted(text) {
		return nil
	}
	r.said(role, text, r.sequence+r.part, r.at)
	return r.done()
}

// text gives an event that is a text and nothing else.
func (r *rows) text(typ, role string, text []byte) error {
	if texts.Blank(text) {
		return nil
	}
	r.draft(typ, role, r.sequence+r.part, r.at)
	r.Event.Body = sdkplugin.Inline(text)
	return r.done()
}

func (r *rows) done() error {
	if r.given++; r.files.Exists() {
		r.walk.bubbleFiles(r.files)
		r.walk.Settle()
		r.files = canonical.Value{}
	}
	return r.emitter.give(r.key())
}

// tool is a call, or its result, as a database has it.
type tool struct {
	id, name  []byte
	arguments canonical.Value // decoded
	result    canonical.Value
	text      []byte // in place of a result that is no text
	status    string
}

// decoded returns the JSON that a value is or, as a string, holds; ok is false for a string that holds none.
func (r *rows) decoded(v canonical.Value) (_ canonical.Value, ok bool) {
	if v.IsString() && r.inner.Parse(v.Str()) == nil {
		v = r.inner.Root()
		return v, !v.IsNull()
	}
	return v, !v.IsString() && !v.IsNull()
}

// call gives a call. Its structured content has the arguments as JSON even where they were stored as a string.
func (r *rows) call(t *tool) error {
	r.draft(sdkplugin.ToolCall, sdkplugin.RoleAssistant, r.sequence+r.part, r.at)
	arguments := t.arguments
	r.walk.value(arguments)
	r.learned.workdir(arguments.Get("working_directory").Str())
	present := sdkplugin.Capture{}
	j := append(r.json[:0], '{')
	if !arguments.IsNull() {
		j = append(j, `"arguments":`...)
		from := len(j)
		j = canonical.AppendValue(j, arguments)
		r.Event.Body = r.Between(from, len(j), false)
		present = sdkplugin.Present(r.Event.Body)
		j = append(j, ',')
	} else {
		r.Event.Body = sdkplugin.Inline(callWithoutInput)
	}
	j = member(j, "id", t.id)
	j = closed(member(j, "name", t.name), '}')
	r.json, r.Event.Structured = j, j
	r.Call(t.id, texts.View(t.name), present)
	return r.done()
}

// output gives the result of a call.
func (r *rows) output(t *tool) error {
	r.draft(sdkplugin.ToolOutput, sdkplugin.RoleTool, r.sequence+r.part, r.at)
	j := append(r.json[:0], '{')
	j = member(j, "id", t.id)
	j = member(j, "name", t.name)
	text := t.text
	if t.result.IsString() {
		text = t.result.Str()
	}
	capture := sdkplugin.SameAsBody()
	const result = `"result":`
	from := len(j) + len(result)
	switch {
	case text != nil:
		j = canonical.AppendString(append(j, result...), text)
		r.Event.Body = r.Between(from, len(j), true)
		j = append(j, ',')
	case !t.result.IsNull():
		j = canonical.AppendValue(append(j, result...), t.result)
		r.Event.Body = r.Between(from, len(j), false)
		j = append(j, ',')
	default:
		capture = sdkplugin.Capture{}
		r.Event.Body = sdkplugin.Inline(resultWithoutText)
	}
	if text != nil && len(text) == 0 {
		capture = r.silent()
	}
	j = closed(member(j, "status", []byte(t.status)), '}')
	r.json, r.Event.Structured = j, j
	r.returned(t.id, t.status, capture, sdkplugin.Present(r.Whole()))
	return r.done()
}

// member writes a member with a comma behind it, if there is a text.
func member(j []byte, name string, text []byte) []byte {
	if len(text) == 0 {
		return j
	}
	j = append(append(append(j, '"'), name...), `":`...)
	return append(canonical.AppendString(j, text), ',')
}

// count tells what became of the row.
func (s *scanner) count() {
	if s.rows.given > 0 {
		s.Retained++
	} else {
		s.Ignored++
	}
}

// reasonOf is the text of a failure without paths and content.
func reasonOf(err error) string {
	var own *sdkplugin.Failure
	if errors.As(err, &own) {
		return own.Message
	}
	return "the database could not be read"
}
