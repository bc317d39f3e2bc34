package codex

import (
	"bytes"
	"context"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

const (
	headLines = 32       // a raw file tells its owner in them or not at all
	headBytes = 32 << 20 // of a content whose owner alone is wanted
	maxOwners = 32       // different threads of one file
)

// owners collects the threads that session_meta lines of one file belong to.
type owners []meta

// add takes one line; ok is false when it contradicts an earlier one of its thread or there are too many.
func (o *owners) add(m meta) (ok bool) {
	for i := range *o {
		if known := &(*o)[i]; known.ID == m.ID {
			return known.same(&m)
		}
	}
	if len(*o) == maxOwners {
		return false
	}
	*o = append(*o, m)
	return true
}

func (o owners) find(thread string) *meta {
	for i := range o {
		if o[i].ID == thread {
			return &o[i]
		}
	}
	return nil
}

// pick returns the thread that a file belongs to: the expected one; without one, the only thread that is nobody's parent, or of
// several the one that the file is named after. Empty if that is nobody.
func (o owners) pick(stem string) string {
	if expected := expectedOwner(stem); expected != "" {
		return expected
	}
	var roots []string
	for i := range o {
		parent := false
		for j := range o {
			parent = parent || o[j].Parent == o[i].ID
		}
		if !parent {
			roots = append(roots, o[i].ID)
		}
	}
	if len(roots) == 1 {
		return roots[0]
	}
	if tail := tailUUID(stem); tail != "" && (len(o) == 0 || o.find(tail) != nil) {
		return tail
	}
	return ""
}

// belongTo tells whether all threads of the file are one chain from its owner to ancestors.
func (o owners) belongTo(owner string) bool {
	if len(o) == 0 {
		return true
	}
	reached := 0
	for m := o.find(owner); m != nil && reached <= len(o); m = o.find(m.Parent) {
		reached++
	}
	return reached == len(o)
}

// head is what the beginning of a file says.
type head struct {
	owners   owners
	messages bool // a message as a response item was seen
	bad      bool // a session_meta line is malformed or contradicts another one
	bare     bool
}

// readHead reads the beginning of a file: until its owner and the source of its messages are known. Without messages it
// is read up to the offset end; a compressed file also when its owner is still unknown.
func readHead(ctx context.Context, r *jsonl.Reader, doc *canonical.Doc, isPacked bool, end uint64) (h head, err error) {
	known := func(v canonical.Value) bool { return envelopeTypes[string(v.Get("type").Str())] != unknownEnvelope }
	for r.Next() {
		line := r.Line()
		inHead := line.Ordinal < headLines || isPacked && len(h.owners) == 0
		if !inHead && h.messages || line.Start >= end {
			return h, nil
		}
		if line.Kind != jsonl.Record {
			continue
		}
		if line.Ordinal%transcript.PatienceLines == 0 && ctx.Err() != nil {
			return h, context.Cause(ctx)
		}
		_, _, err := transcript.Records(doc, line.Bytes, known, func(v canonical.Value) error {
			h.look(line, v, inHead)
			return nil
		})
		if err != nil {
			return h, err
		}
	}
	return h, r.Err()
}

func (h *head) look(line *jsonl.Line, v canonical.Value, inHead bool) {
	payload := v.Get("payload")
	switch envelopeTypes[string(v.Get("type").Str())] {
	case metaEnvelope:
		if !inHead {
			return
		}
		at, _ := texts.ParseTime(v.Get("timestamp").Str())
		m, ok := readMeta(payload, at)
		m.Line = line.Ordinal
		h.bad = h.bad || !ok || !h.owners.add(m)
	case itemEnvelope:
		h.messages = h.messages || payload.Get("type").StrEquals("message")
	case unknownEnvelope:
		if m, ok := bareHeader(v); ok && line.Ordinal == 0 {
			h.bare = h.owners.add(m)
		}
	}
	h.messages = h.messages || h.bare
}

// owner returns the owner of a file, or the failure of one that belongs to nobody for certain.
func (h *head) owner(stem string, isPacked bool) (meta, error) {
	if isPacked && len(h.owners) == 0 {
		return meta{}, malformed("the compressed file has no session_meta line")
	}
	if h.bad {
		return meta{}, malformed("a session_meta line cannot be trusted")
	}
	thread := h.owners.pick(stem)
	if thread == "" {
		return meta{}, malformed("the file does not tell its thread")
	}
	if !h.owners.belongTo(thread) {
		return meta{}, malformed("the file holds lines of threads that are no ancestors of its own")
	}
	if m := h.owners.find(thread); m != nil {
		return *m, nil
	}
	return namedMeta(thread), nil
}

// ancestry walks through the parent's rollout beside that of a child: one event of the parent for every event of the child, as
// long as they are equal.
type ancestry struct {
	ctx     context.Context
	content *content
	scanner transcript.Scanner
	mapper  mapper
	queue   []inherited // events of the parent's line
	next    int
	err     error
}

// inherited is an event of the parent: the type of its line, its canonical payload and its key.
type inherited struct {
	envelope     string
	payload, key []byte
}

// openAncestry opens the parent's rollout beside that of a child.
func openAncestry(ctx context.Context, parent *candidate, child *content, work *jsonl.Work) (*ancestry, error) {
	c, err := openContent(ctx, parent.base, parent.locator, work, reading{beside: child})
	if err != nil {
		return nil, err
	}
	a := &ancestry{ctx: ctx, content: c}
	a.scanner.Nested = true
	state, err := begun(ctx, c, &a.scanner, parent.thread, nameOf(parent.base, parent.locator), maxContent)
	if err != nil {
		c.Close()
		return nil, err
	}
	a.mapper.begin(state, nil)
	a.mapper.given = func(envelope string, payload canonical.Value, key sdkplugin.NativeKey) {
		a.queue = append(a.queue, inherited{envelope, canonical.AppendValue(nil, payload), bytes.Clone(key)})
	}
	return a, nil
}

// take returns the next event of the parent, nil behind the last one. A rollout that turns out to be malformed proves nothing more.
func (a *ancestry) take() *inherited {
	for a.next == len(a.queue) {
		a.queue, a.next = a.queue[:0], 0
		err := a.ctx.Err()
		more := a.scanner.Reader.Next()
		if more && err == nil {
			err = a.scanner.Line(a.scanner.Reader.Line(), &a.mapper, nil)
		} else if err == nil {
			err = a.scanner.Reader.Err()
		}
		if jsonl.ClassOf(err) != string(sdkplugin.MalformedSource) {
			a.err = err
		}
		if s := a.mapper.state; err != nil || !more || len(a.queue) > 0 && !s.Others.belongTo(s.Owner.ID) {
			return nil
		}
	}
	a.next++
	return &a.queue[a.next-1]
}

func (a *ancestry) close() {
	if a != nil {
		a.content.Close()
	}
}

// claimCopy names the event that the draft is a copy of. While the inherited prefix lasts and the parent's rollout is there, it is
// the parent's event at the same place; without that rollout a result is known by its call id.
func (m *mapper) claimCopy(nativeType string) {
	o := &m.state.Owner
	if o.Parent == "" || m.Event.Sequence < o.Line {
		return
	}
	if m.state.Compared {
		if !m.state.Inherited {
			return
		}
		from := m.inherits.take()
		m.ancestor = canonical.AppendValue(m.ancestor[:0], m.payload)
		if from == nil || from.envelope != string(m.kind) || !bytes.Equal(from.payload, m.ancestor) {
			m.state.Inherited = false
			return
		}
		m.copyOf(sdkplugin.NativeKey(from.key), sdkplugin.ProofCertifiedOrderedPrefix)
		return
	}
	m.state.Inherited = false
	result := nativeType == sdkplugin.ToolOutput || nativeType == sdkplugin.CommandOutput
	related := o.Relationship == sdkplugin.RelationshipForked || o.Relationship == sdkplugin.RelationshipResumedFrom
	if result && related && !m.state.LocalTurn && len(m.Event.CallID) > 0 {
		m.copyOf(m.Event.Key, sdkplugin.ProofNativeCallResult)
	}
}

func (m *mapper) copyOf(key sdkplugin.NativeKey, proof sdkplugin.Proof) {
	m.Claim = sdkplugin.CopyClaim{Session: *refTo(m.state.Owner.Parent), EventKind: eventKind, EventKey: key, Proof: proof}
	m.Event.Copy = &m.Claim
}
