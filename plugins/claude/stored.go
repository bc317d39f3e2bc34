package claude

import (
	"bytes"
	"strconv"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// What is stored of a block is its canonical form. A few blocks hold what is never stored: base64 data, of which only the
// length stays, and encrypted search results, which go entirely. Such a block is written out again without it, as raw JSON,
// and parsed a second time; everything else is then the same for both.

// rewriter writes a value as raw JSON without what is not stored.
type rewriter struct {
	dst []byte
	// encrypted drops the members encrypted_content as well.
	encrypted bool
	// visible is the message content of which only blocks that give events may be kept; absent otherwise.
	visible canonical.Value
}

func (w *rewriter) value(v canonical.Value, key []byte) {
	switch v.Kind() {
	case canonical.Array:
		w.array(v)
	case canonical.Object:
		w.object(v, key, nil)
	default:
		w.dst = append(w.dst, v.Raw()...)
	}
}

func (w *rewriter) array(v canonical.Value) {
	w.dst = append(w.dst, '[')
	filtered := w.visible.Exists() && v.Index() == w.visible.Index()
	for element := range v.Elems {
		if !filtered || element.IsObject() && kindOf(element.Get("type").Str()) != silentBlock {
			w.value(element, nil)
			w.dst = append(w.dst, ',')
		}
	}
	w.close(']')
}

// close ends a list whose items have a comma behind them.
func (w *rewriter) close(bracket byte) {
	w.dst = append(bytes.TrimSuffix(w.dst, []byte(",")), bracket)
}

// object writes an object that stands under a key, with one more raw member at its end if extra is not nil.
func (w *rewriter) object(v canonical.Value, key, extra []byte) {
	w.dst = append(w.dst, '{')
	for name, m := range v.Each {
		if w.encrypted && string(name) == "encrypted_content" {
			continue
		}
		w.dst = append(canonical.AppendString(w.dst, name), ':')
		if m.IsString() && len(m.Raw()) > 2 && isBinary(v, key, name) {
			w.dst = append(w.dst, `{"omitted":"binary","bytes":`...) // the length as it stands in the file
			w.dst = append(strconv.AppendInt(w.dst, int64(len(m.Raw())-2), 10), '}')
		} else {
			w.value(m, name)
		}
		w.dst = append(w.dst, ',')
	}
	if extra != nil {
		w.dst = append(w.dst, extra...)
	}
	w.close('}')
}

// isBinary tells whether the string member name of the object v, which stands under key, is base64: the data of an API source
// or of an MCP image or sound, the blob of an MCP resource, the content of a file that the client read.
func isBinary(v canonical.Value, key, name []byte) bool {
	switch string(name) {
	case "data":
		if string(key) == "source" {
			return v.Get("type").StrEquals("base64") || !v.Has("type") && v.Has("media_type")
		}
		typ := v.Get("type").Str()
		return string(typ) == "image" || string(typ) == "audio" || mimeOfBinary(v)
	case "blob":
		return mimeOfBinary(v) || v.Has("uri")
	case "base64":
		return string(key) == "file"
	}
	return false
}

func mimeOfBinary(v canonical.Value) bool {
	mime := v.Get("mimeType").Str()
	return len(mime) > 0 && !bytes.HasPrefix(mime, []byte("text/"))
}

// rewritten returns an object as it is stored: itself, or a copy without what is never stored, and with one more raw member if extra is not nil.
// The writer writes JSON, so that an error is a defect of this package.
func (m *mapper) rewritten(w rewriter, v canonical.Value, extra []byte) (canonical.Value, error) {
	if m.walk.Named&unstoredKeys == 0 && extra == nil {
		return v, nil
	}
	w.dst = m.rewriter.dst[:0]
	w.object(v, nil, extra)
	m.rewriter = w
	if err := m.alternate.Parse(w.dst); err != nil {
		return canonical.Value{}, err
	}
	return m.alternate.Root(), nil
}

// How the parts of a body are read: the one part as compact JSON, or the strings that the parts are, joined with LF.
const (
	compactJSON = false
	joinedText  = true
)

// store writes the structured copy of a block and makes the body of its parts, as pieces of that copy where there is one.
func (m *mapper) store(b *block, stored canonical.Value, texts bool) {
	if m.stored = stored; b.repeated == 0 {
		m.Store(stored, m.parts...)
	}
	inline := b.repeated != 0 || len(m.parts) > transcript.MaxPieces
	switch {
	case len(m.parts) == 0:
	case inline && !texts:
		m.text = canonical.AppendValue(m.text[:0], m.parts[0])
		m.Event.Body = sdkplugin.Inline(m.text)
	case inline:
		m.Event.Body = sdkplugin.Inline(m.Join(m.parts))
	default:
		m.Event.Body = m.Pieces(m.Marks, texts)
	}
}

// fitAndGive hands the draft out. A structured copy over the limit of one event goes, and what consisted of its pieces is
// told as left out; only the body stays, as bytes of its own.
func (m *mapper) fitAndGive(idx int) error {
	if len(m.Event.Structured)+len(m.Event.Body.Bytes) <= m.maxText {
		return m.give(idx)
	}
	observed := uint64(len(m.Event.Structured))
	if len(m.Event.Body.Spans) > 0 {
		m.text, _ = m.Event.Body.Append(m.text[:0], m.Event.Structured)
		m.Event.Body = sdkplugin.Inline(m.text)
	}
	length := uint64(len(m.Event.Body.Bytes))
	if i := m.Event.Invocation; i != nil && i.Arguments.Status == sdkplugin.CapturePresent {
		i.Arguments = sdkplugin.Omitted(sizeLimit, length)
	}
	if r := m.Event.Result; r != nil {
		if r.Text.Status == sdkplugin.CapturePresent {
			r.Text = sdkplugin.Omitted(sizeLimit, length)
		}
		if r.Structured.Status == sdkplugin.CapturePresent {
			r.Structured = sdkplugin.Omitted(sizeLimit, observed)
		}
	}
	if length > uint64(m.maxText) {
		m.Event.Body = sdkplugin.Inline(callWithoutInput)
	}
	m.Event.Structured = nil
	return m.give(idx)
}

const sizeLimit = "size_limit"

// nativeContent returns the canonical form of the draft's block as the client wrote it in the conversation, nil if a repeated
// key withholds it.
func (m *mapper) nativeContent() []byte {
	switch {
	case m.block.repeated != 0 || !m.stored.Exists():
		return nil
	case !m.added:
		return canonical.AppendValue(nil, m.stored)
	}
	w := rewriter{}
	w.object(m.block.v, nil, nil)
	content, _ := canonical.Canonical(w.dst) // JSON that this package wrote
	return content
}
