package testprovider

import (
	"bytes"
	"context"
	"encoding"
	"hash"
	"io/fs"
	"math/rand/v2"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

const maxLine = 16 << 20

// reading is one scan of one file.
type reading struct {
	p    *Provider
	ctx  context.Context
	out  *sdkplugin.SourceWriter
	id   string
	hash hash.Hash

	doc     canonical.Doc
	line    uint64 // ordinal of the next line
	offset  uint64
	session uint32
}

func (r *reading) run(req sdkplugin.ScanRequest, data []byte, info fs.FileInfo) error {
	mode := sdkplugin.ModeFull
	if r.resume(req, data) {
		mode = sdkplugin.ModeAppend
	}
	if err := r.out.Begin(mode); err != nil {
		return err
	}
	var err error
	r.session, err = r.out.Session(sdkplugin.Session{
		Ref:               sdkplugin.SessionRef{Kind: SessionKind, Key: sdkplugin.NativeID(namespace, sdkplugin.Utf8(r.id))},
		ProviderSessionID: r.id, Relationship: sdkplugin.RelationshipRoot, Scope: sdkplugin.ScopePrimary,
	})
	if err != nil {
		return err
	}
	if err := r.lines(data); err != nil {
		return err
	}
	state, err := r.hash.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return err
	}
	ending := sdkplugin.Ending{
		Observation: r.p.observe(info), CertifiedBytes: r.offset, Frontier: frontier{r.line, state}.encode(),
		Metadata: []sdkplugin.SessionMetadata{{Session: r.session, Title: "Notes of " + r.id}},
	}
	copy(ending.ContentDigest[:], r.hash.Sum(nil))
	switch {
	case r.p.has("no-end"):
		return nil
	case r.p.has("digest-wrong"):
		ending.ContentDigest[0] ^= 1
	case r.p.has("counts-wrong"):
		r.out.Retain(1)
	}
	return r.out.End(ending)
}

// lines reads what is complete; the tail waits.
func (r *reading) lines(data []byte) error {
	for {
		rest := data[r.offset:]
		n := bytes.IndexByte(rest, '\n')
		if n < 0 && r.p.has("reads-tail") && len(rest) > 0 {
			n = len(rest) - 1
		}
		if n < 0 {
			return nil
		}
		whole := rest[:n+1]
		if err := r.record(bytes.TrimSuffix(whole, []byte("\n"))); err != nil {
			return err
		}
		r.hash.Write(whole)
		r.offset += uint64(len(whole))
		r.line++
		for r.p.has("ignores-cancel") && r.ctx.Err() != nil { // on and on, for nobody
		}
		if err := r.out.Progress(r.offset); err != nil {
			return err
		}
	}
}

func (r *reading) record(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		r.out.Ignore(1)
		return nil
	}
	if len(line) > maxLine && !r.p.has("long-line-kept") {
		if r.p.has("long-line-fails") {
			return sdkplugin.Fail(sdkplugin.MalformedSource, "a line is too long")
		}
		return r.reject("longer than 16 MiB")
	}
	if err := r.doc.Parse(line); err != nil || r.doc.Root().Kind() != canonical.Object {
		if r.p.has("damaged-fails") {
			return sdkplugin.Fail(sdkplugin.MalformedSource, "a line is no JSON")
		}
		return r.reject("not a JSON object")
	}
	err := r.event(r.doc.Root())
	if r.p.has("ignores-cancel") {
		return nil
	}
	return err
}

func (r *reading) reject(detail string) error {
	return r.out.Reject(sdkplugin.Rejection{Line: r.line + 1, ByteOffset: r.offset, HasOffset: true, Damaged: true, Detail: detail})
}

func (r *reading) event(root canonical.Value) error {
	text, id := root.Get("text"), root.Get("id")
	if !text.IsString() || len(id.Str()) == 0 {
		r.out.Ignore(1)
		return nil
	}
	structured := canonical.AppendValue(nil, root)
	literal := canonical.AppendString(nil, text.Str())
	at := bytes.Index(structured, append([]byte(`"text":`), literal...)) + len(`"text":`)
	e := sdkplugin.Event{
		Session: r.session, Kind: EventKind, Sequence: r.line, Type: sdkplugin.Message, Role: sdkplugin.RoleUser,
		Key:        sdkplugin.Composite("scribble.event", sdkplugin.Utf8(string(id.Str())), sdkplugin.U64(0)),
		Structured: structured,
		Body:       sdkplugin.Pieces(sdkplugin.Span{Offset: uint32(at), Length: uint32(len(literal)), Quoted: true}),
		Facts:      []sdkplugin.Fact{{Kind: sdkplugin.FactWorkspace, Value: "notes"}},
	}
	if role := root.Get("role"); role.IsString() {
		e.Role = string(role.Str())
	}
	if ms, ok := root.Get("at").Int64(); ok {
		e.At = sdkplugin.AtMillis(ms)
	}
	r.damage(&e)
	r.out.Retain(1)
	return r.out.Event(&e)
}

// damage makes the event wrong in the ways that the SDK lets through.
func (r *reading) damage(e *sdkplugin.Event) {
	switch r.p.Defect {
	case "key-by-chance":
		e.Key = sdkplugin.Composite("scribble.event", sdkplugin.U64(rand.Uint64()))
	case "key-twice":
		e.Key = sdkplugin.Composite("scribble.event", sdkplugin.U64(7))
	case "not-canonical":
		e.Structured = bytes.Replace(e.Structured, []byte(":"), []byte(": "), 1)
		e.Body = sdkplugin.Inline("text")
	case "body-not-utf8":
		e.Body = sdkplugin.Inline([]byte{'a', 0xff})
	case "too-big":
		if e.Sequence == 1 {
			e.Body = sdkplugin.Inline(strings.Repeat("x", sdkplugin.MaxEventContent+1))
		}
	}
}
