package transcript

import (
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// MaxPieces is how many pieces of the structured content one text may consist of; a text of more travels by itself, because
// finding the place of a piece costs time in proportion to their number.
const MaxPieces = 64

// Draft is the event that a mapping works on, with the memory that it refers to. The memory is kept from event to event.
type Draft struct {
	Event      sdkplugin.Event
	Invocation sdkplugin.Invocation
	Result     sdkplugin.Result
	Claim      sdkplugin.CopyClaim
	Marks      []canonical.Mark // of the parts that Store was given; none when they are too many

	structured, joined, callID []byte
	pieces, piece, whole       []sdkplugin.Span
}

// Store writes a value as the structured content of the event, and marks where parts of it stand.
func (d *Draft) Store(v canonical.Value, parts ...canonical.Value) {
	if d.Marks = d.Marks[:0]; len(parts) <= MaxPieces {
		for _, part := range parts {
			d.Marks = append(d.Marks, canonical.Mark{Value: part})
		}
	}
	d.structured = canonical.AppendMarked(d.structured[:0], v, d.Marks)
	d.Event.Structured = d.structured
}

// Whole is the value that the structured content is as a whole.
func (d *Draft) Whole() sdkplugin.Value {
	d.whole = append(d.whole[:0], sdkplugin.Span{Length: uint32(len(d.Event.Structured))})
	return sdkplugin.Pieces(d.whole...)
}

// Pieces is the value that consists of marked parts; quoted: of the texts that they are.
func (d *Draft) Pieces(marks []canonical.Mark, quoted bool) sdkplugin.Value {
	d.pieces = d.pieces[:0]
	for _, m := range marks {
		d.pieces = append(d.pieces, sdkplugin.Span{Offset: uint32(m.Start), Length: uint32(m.End - m.Start), Quoted: quoted})
	}
	return sdkplugin.Pieces(d.pieces...)
}

// Piece is the value that one marked part is. There can be one beside Pieces.
func (d *Draft) Piece(mark int, quoted bool) sdkplugin.Value {
	return d.Between(d.Marks[mark].Start, d.Marks[mark].End, quoted)
}

// Between is the value that stands between two places of the structured content, as Piece.
func (d *Draft) Between(from, to int, quoted bool) sdkplugin.Value {
	d.piece = append(d.piece[:0], sdkplugin.Span{Offset: uint32(from), Length: uint32(to - from), Quoted: quoted})
	return sdkplugin.Pieces(d.piece...)
}

// Join returns texts joined with LF, valid until the next call. One text is not copied.
func (d *Draft) Join(parts []canonical.Value) []byte {
	if len(parts) == 1 {
		return parts[0].Str()
	}
	d.joined = d.joined[:0]
	for i, part := range parts {
		if i > 0 {
			d.joined = append(d.joined, '\n')
		}
		d.joined = part.AppendStr(d.joined)
	}
	return d.joined
}

// SetCallID sets the id of a call, and tells whether it could: an empty one, or one too long for a key, is none.
func (d *Draft) SetCallID(id []byte) bool {
	const head = 1 + 8
	if len(id) == 0 || len(id)+head > sdkplugin.MaxTypedKey {
		return false
	}
	d.callID = sdkplugin.AppendUtf8(d.callID[:0], id)
	d.Event.CallID = d.callID
	return true
}

// Call makes the event a call if both its id and its tool are known, and tells whether it did.
func (d *Draft) Call(id []byte, tool string, arguments sdkplugin.Capture) bool {
	if tool == "" || len(tool) > sdkplugin.MaxString || !d.SetCallID(id) {
		return false
	}
	d.Invocation = sdkplugin.Invocation{Tool: tool, Arguments: arguments, StartedAt: d.Event.At}
	d.Event.Invocation = &d.Invocation
	return true
}

// MCP names server and tool of a call whose record tells them apart. Names that are missing or too long leave it as it is.
func (d *Draft) MCP(server, tool []byte) {
	if len(server) > 0 && len(tool) > 0 && max(len(server), len(tool)) <= sdkplugin.MaxString {
		d.Invocation.Protocol, d.Invocation.Server, d.Invocation.Tool = "mcp", texts.View(server), texts.View(tool)
	}
}
