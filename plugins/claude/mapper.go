package claude

import (
	"bytes"
	"maps"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

type sink = transcript.Sink

// mapper turns the records of one file into events. It works on one draft of an event in memory that it keeps.
type mapper struct {
	key              sessionKey
	side             sidecars
	out              sink // nil: only the state is built that the records lead to
	state            *state
	maxText, maxLine int // limits of one text in bytes and of one line in events

	session    uint32 // as declared to out
	hasSession bool
	declared   string // ancestor that the session was declared with
	// maybe holds the texts of the prefix before an append that may be uuids, recall finds out which of them are; recallErr is its
	// error.
	maybe     fingerprints
	recall    func() (fingerprints, error)
	recallErr error

	rec     record
	outline outline
	ordinal uint64 // of the line
	onLine  int    // events of the line so far
	at      sdkplugin.Instant

	transcript.Draft
	kind       nativeKind
	nativeRole []byte
	callID     []byte
	block      *block
	stored     canonical.Value // what Structured is the canonical form of
	added      bool            // stored has a member that its block has not
	soleOutput bool            // of a result: see sdkplugin.Result
	walk       factWalk
	literalEnd int // end of the facts that count for content digests

	alternate canonical.Doc // for values that are written anew before they are stored
	rewriter  rewriter
	digester  digester
	parts     []canonical.Value
	text, raw []byte
	keys      []byte
	noBlock   block
}

// begin makes the mapper ready for a file.
func (m *mapper) begin(key sessionKey, side sidecars, out sink) {
	m.key, m.side, m.out = key, side, out
	m.state, m.maybe, m.recallErr = new(state).ready(), nil, nil
	m.hasSession, m.declared = false, ""
	m.maxText, m.maxLine = sdkplugin.MaxEventContent, sdkplugin.MaxEventsRecord
}

// Known tells whether an object found in a damaged line is a record.
func (m *mapper) Known(v canonical.Value) bool { return known(v) }

// Record maps one record of a line.
func (m *mapper) Record(at transcript.Place, v canonical.Value) (transcript.Outcome, error) {
	if at.Nth == 0 {
		m.ordinal, m.onLine = at.Line.Ordinal, 0
	}
	outcome, err := m.record(v)
	if outcome.Rejected != "" {
		outcome.PayloadType = texts.Short(m.rec.typ.Str(), maxField)
	}
	return outcome, err
}

func (m *mapper) record(v canonical.Value) (transcript.Outcome, error) {
	r := &m.rec
	if defect := r.read(v); defect != "" {
		return transcript.Reject(defect)
	}
	m.outline.reset()
	if r.family.outlined() {
		if defect := m.outline.read(r.text()); defect != "" {
			if r.family.checked() {
				return transcript.Reject(defect)
			}
			m.outline.reset()
		}
		if m.outline.textBytes > m.maxText {
			return transcript.Reject("text over 16 MiB")
		}
	}
	uuid := fingerprintOf(r.uuid.Str())
	keyed := len(r.uuid.Str()) > 0 && !r.family.keyedByContent()
	if keyed && m.known(uuid) {
		return transcript.Outcome{}, m.recallErr
	}
	if r.family.chain() {
		m.state.trace(r, m.key)
	}
	m.at = instant(r.timestamp)
	m.recordFacts()
	outcome, err := m.events()
	if err != nil || outcome.Rejected != "" {
		return outcome, err
	}
	if keyed {
		m.state.seen[uuid] = true
		m.state.oddKey = m.state.oddKey || !plainKey(r.root, r.uuid)
	}
	m.state.learn(r, m.at)
	return outcome, m.recallErr
}

// known tells whether an earlier record of the file has a uuid.
func (m *mapper) known(uuid fingerprint) bool {
	if m.maybe[uuid] && !m.state.seen[uuid] {
		before, err := m.recall()
		m.maybe, m.recallErr = nil, err
		maps.Copy(m.state.seen, before)
	}
	return m.state.seen[uuid]
}

// settleSummaries finds out which summaries are of this very file. Those of a frontier are settled but for records behind it.
func (m *mapper) settleSummaries() {
	for i := range m.state.Titles.Summaries {
		s := &m.state.Titles.Summaries[i]
		s.Own = s.Own || m.known(s.Leaf)
	}
}

// events gives the events of the record.
func (m *mapper) events() (transcript.Outcome, error) {
	switch m.rec.family {
	case userRecord, assistantRecord, untyped:
		return m.conversation()
	case systemRecord:
		return m.system()
	case attachmentRecord:
		return m.attachment()
	case summaryRecord:
		return m.row(nativeSummary, sdkplugin.Summary, "", m.rec.summary.Str())
	case prLinkRecord:
		return m.pullRequest()
	case oldBoundary:
		return m.row(nativeSummary, sdkplugin.Summary, "", m.joined())
	case unknownFamily, foreignRecord:
		return m.row(nativeNotice, sdkplugin.Notice, texts.View(m.rec.nativeRole()), m.joined())
	}
	return transcript.Outcome{}, nil
}

// recordFacts starts the draft's facts with those that every event of the record has.
func (m *mapper) recordFacts() {
	m.walk.Reset()
	m.walk.Add(sdkplugin.FactSessionCWD, m.rec.cwd.Str())
	m.walk.Add(sdkplugin.FactBranch, m.rec.branch.Str())
	m.walk.EndBase()
}

// row gives one event that is a text and nothing else.
func (m *mapper) row(kind nativeKind, typ, role string, text []byte) (transcript.Outcome, error) {
	return m.rowWith(kind, typ, role, text, func() {})
}

// rowWith is row with what add gives to the draft.
func (m *mapper) rowWith(kind nativeKind, typ, role string, text []byte, add func()) (transcript.Outcome, error) {
	switch {
	case texts.Blank(text):
		return transcript.Outcome{}, nil
	case m.onLine >= m.maxLine:
		return transcript.Reject(tooManyEvents)
	}
	m.draft(kind, typ, role)
	m.Event.Body = sdkplugin.Inline(text)
	add()
	return transcript.Retained, m.give(0)
}

// joined returns the texts of the record, joined with LF.
func (m *mapper) joined() []byte { return m.Join(m.outline.texts) }

// draft starts an event.
func (m *mapper) draft(kind nativeKind, typ, role string) {
	m.kind, m.nativeRole, m.callID, m.block = kind, m.rec.nativeRole(), nil, &m.noBlock
	if kind == nativeOutput {
		m.nativeRole = toolRole
	}
	m.stored, m.added = canonical.Value{}, false
	m.walk.Restart()
	m.literalEnd = m.walk.Base
	scope := sdkplugin.ScopePrimary
	if !m.key.main() || m.rec.sidechain {
		scope = sdkplugin.ScopeSubagent
	}
	m.Event = sdkplugin.Event{Kind: eventKind, At: m.at, Type: typ, Role: role, Scope: scope}
}

// give finishes the draft as the event idx of its record and hands it out.
func (m *mapper) give(idx int) error {
	m.Event.Sequence = m.ordinal<<16 + uint64(m.onLine)
	m.onLine++
	m.Event.Facts = m.walk.List
	m.Event.Key = m.eventKey(idx)
	if m.out == nil {
		return nil
	}
	if err := m.declare(); err != nil {
		return err
	}
	m.Event.Session = m.session
	m.claimCopy(idx)
	return m.out.Event(&m.Event)
}

// relationships of main sessions by their lineage.
var relationships = [...]sdkplugin.Relationship{
	lineageUnknown: sdkplugin.RelationshipRoot, lineageRoot: sdkplugin.RelationshipRoot,
	lineageForked: sdkplugin.RelationshipForked, lineageResumed: sdkplugin.RelationshipResumedFrom,
}

// declare declares the session before its first event and again when its origin has become known.
func (m *mapper) declare() (err error) {
	if m.hasSession && m.declared == m.state.Ancestor {
		return nil
	}
	refTo := func(key sessionKey) *sdkplugin.SessionRef {
		ref := key.ref(false)
		return &ref
	}
	s := sdkplugin.Session{
		Ref: m.key.ref(true), ProviderSessionID: m.key.display(), Scope: sdkplugin.ScopePrimary,
		Relationship: relationships[m.state.Lineage],
	}
	switch {
	case !m.key.main():
		s.Scope, s.Relationship = sdkplugin.ScopeSubagent, sdkplugin.RelationshipDelegated
		if m.key.run != "" {
			s.Relationship = sdkplugin.RelationshipWorkflowChild
		}
		s.Root, s.Parent = refTo(sessionKey{root: m.key.root}), refTo(m.side.parent(m.key))
	case m.state.Ancestor != "":
		s.Parent = refTo(sessionKey{root: m.state.Ancestor})
	}
	m.session, err = m.out.Session(s)
	m.hasSession, m.declared = true, m.state.Ancestor
	return err
}

// eventKey returns the native key of the draft: the uuid of its record, else the id of its message, else its content.
func (m *mapper) eventKey(idx int) sdkplugin.NativeKey {
	r := &m.rec
	if !r.family.keyedByContent() {
		uuid, id := r.uuid.Str(), r.messageID.Str()
		switch {
		case len(uuid) > 0:
			if len(m.state.Pairs) == 0 || !m.state.Pairs[pairOf(uuid, idx)] {
				return m.pairKey(uuid, idx)
			}
		case len(id) > 0 && len(m.outline.results) == 0 && r.toolUseResult.IsNull():
			if m.usePair(id, idx) {
				return m.pairKey(id, idx)
			}
		}
	}
	sum := m.digester.event(m)
	m.keys = sdkplugin.AppendComposite(m.keys[:0], eventNamespace, 3)
	m.keys = sdkplugin.AppendUtf8(m.keys, fallbackMark)
	m.keys = sdkplugin.AppendBytes(m.keys, sum[:])
	m.keys = sdkplugin.AppendU64(m.keys, m.state.Occurrences.Next(fingerprint(sum[:16])))
	return m.keys
}

// usePair takes a pair of message id and index for an event, unless an event of the file has it already.
func (m *mapper) usePair(id []byte, idx int) bool {
	pair := pairOf(id, idx)
	if m.state.Pairs[pair] || m.known(fingerprintOf(id)) {
		return false
	}
	m.state.Pairs[pair] = true
	return true
}

func (m *mapper) pairKey(id []byte, idx int) sdkplugin.NativeKey {
	m.keys = sdkplugin.AppendComposite(m.keys[:0], eventNamespace, 2)
	m.keys = sdkplugin.AppendUtf8(m.keys, id)
	m.keys = sdkplugin.AppendU64(m.keys, uint64(idx))
	return m.keys
}

// claimCopy names the event that the draft is a copy of: its record says where it was forked from, or belongs to another
// session than the file.
func (m *mapper) claimCopy(idx int) {
	r := &m.rec
	uuid := r.uuid.Str()
	if len(uuid) == 0 || r.family.keyedByContent() {
		return
	}
	ancestor, proof := texts.View(r.sessionID.Str()), sdkplugin.ProofNativeEventIdentity
	if ancestor == "" || ancestor == m.key.root {
		if ancestor = forkedFrom(r); ancestor == "" {
			return
		}
		if copied := r.forkedFrom.Get("messageUuid").Str(); len(copied) > 0 && len(copied) <= maxField &&
			!bytes.Equal(copied, uuid) {
			uuid, proof = copied, sdkplugin.ProofNativeCopiedFrom
		}
	}
	key := sessionKey{root: ancestor}
	if key == m.key {
		return
	}
	m.Claim = sdkplugin.CopyClaim{
		Session: key.ref(false), EventKind: eventKind, Proof: proof,
		EventKey: sdkplugin.Composite(eventNamespace, sdkplugin.Utf8(texts.View(uuid)), sdkplugin.U64(uint64(idx))),
	}
	m.Event.Copy = &m.Claim
}

// bodyText returns the text of the draft's body.
func (m *mapper) bodyText() []byte {
	if len(m.Event.Body.Spans) == 0 {
		return m.Event.Body.Bytes
	}
	text, _ := m.Event.Body.Append(nil, m.Event.Structured) // the writer made the literals
	return text
}
