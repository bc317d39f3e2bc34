package record

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agenthistory/ctx/host/internal/onscreen"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// SourceSpec is what the host knows of the source that a provider reads.
type SourceSpec struct {
	Provider        string
	Format          string // source format of the leaf
	Variant         string // schema variant
	IdentityVersion uint32
	ParserRevision  string
	Anchor          []byte  // as the provider gave it
	Lineage         *Digest // of a named root that keeps its sources apart; nil = none
}

// Converter turns what a provider sends of one source into records: it checks keys, derives ids, and checks that structured content
// is canonical and that values lie inside it. It may be used by several goroutines at once, as long as a session is declared and has its
// ordinal before an event of it is converted.
type Converter struct {
	spec       SourceSpec
	anchor     []byte // with lineage
	source     Digest
	descriptor Digest

	mu       sync.RWMutex
	sessions map[uint32]*Session // changed under mu; a session's ordinal as well
}

// NewConverter checks the names and the anchor of a source. The error is a *Rejection.
func NewConverter(spec SourceSpec) (*Converter, error) {
	for _, f := range []struct {
		name, value string
		limit       int
	}{
		{"provider", spec.Provider, MaxProvider}, {"source format", spec.Format, MaxName}, {"schema variant", spec.Variant, MaxName},
		{"parser revision", spec.ParserRevision, MaxRevision},
	} {
		if err := requireText(f.name, f.value, f.limit); err != nil {
			return nil, err
		}
	}
	if err := ValidAnchor(spec.Anchor); err != nil {
		return nil, err
	}
	c := &Converter{spec: spec, sessions: map[uint32]*Session{}}
	c.anchor = c.withLineage(spec.Anchor)
	c.source = SourceID(spec.Provider, c.anchor)
	c.descriptor = DescriptorDigest(spec.Provider, spec.Format, spec.Variant, spec.IdentityVersion, c.source)
	return c, nil
}

// requireText checks a string that must be there. The error is a *Rejection.
func requireText(name, value string, limit int) error {
	if value == "" {
		return reject(RejectInvalidField, "no %s", name)
	}
	if err := checkText(name, value, limit); err != nil {
		return err
	}
	return nil
}

func (c *Converter) withLineage(anchor []byte) []byte {
	if c.spec.Lineage == nil {
		return anchor
	}
	return WithLineage(anchor, *c.spec.Lineage)
}

// Source returns the digest of the source and of its descriptor.
func (c *Converter) Source() (id, descriptor Digest) { return c.source, c.descriptor }

// Anchor returns the anchor with the lineage that the ids are made of.
func (c *Converter) Anchor() []byte { return c.anchor }

// Session returns a session that was added, nil if there is none of this index.
func (c *Converter) Session(index uint32) *Session {
	s, _ := c.sessionOf(index)
	return s
}

// sessionOf returns the session of an event and its ordinal.
func (c *Converter) sessionOf(index uint32) (s *Session, ordinal uint32) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s = c.sessions[index]; s != nil {
		ordinal = s.Ordinal
	}
	return s, ordinal
}

// SetOrdinal tells the place of a session in the store; events that are converted afterwards carry it.
func (c *Converter) SetOrdinal(index, ordinal uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[index]; s != nil {
		s.Ordinal = ordinal
	}
}

// Resolve derives the ids of any session of the provider; it need not exist. The error is a *Rejection.
func (c *Converter) Resolve(ref *historyv1.SessionRef) (source, session Digest, err error) {
	if err := requireText("session kind", ref.GetKind(), MaxName); err != nil {
		return source, session, err
	}
	if err := ValidNativeKey(ref.GetKey()); err != nil {
		return source, session, err
	}
	source = c.source
	if anchor := ref.GetAnchor(); len(anchor) > 0 {
		if err := ValidAnchor(anchor); err != nil {
			return source, session, err
		}
		source = SourceID(c.spec.Provider, c.withLineage(anchor))
	}
	return source, SessionID(source, ref.GetKind(), ref.GetKey()), nil
}

// AddSession checks a declared session and derives its id. The error is a *Rejection. A session may be declared again with the same
// identity; the later declaration counts and keeps ordinal and metadata.
func (c *Converter) AddSession(w *historyv1.Session) (*Session, error) {
	source, id, err := c.Resolve(w.GetRef())
	if err != nil {
		return nil, err
	}
	if source != c.source {
		return nil, reject(RejectInvalidKey, "a session of another source")
	}
	if err := checkText("provider session id", w.GetProviderSessionId(), MaxText); err != nil {
		return nil, err
	}
	s := &Session{
		ID: id, Source: c.source, Descriptor: c.descriptor,
		Provider: c.spec.Provider, SourceFormat: c.spec.Format, SchemaVariant: c.spec.Variant, IdentityVersion: c.spec.IdentityVersion,
		Anchor: c.anchor, Key: w.GetRef().GetKey(), Kind: w.GetRef().GetKind(),
		ProviderSessionID: w.GetProviderSessionId(), ParserRevision: c.spec.ParserRevision,
		Relationship: Relationship(w.GetRelationship()), Scope: Scope(w.GetScope()),
	}
	if int(w.GetRelationship()) >= len(relationshipNames) || w.GetRelationship() < 0 || !knownScope(w.GetScope()) {
		return nil, reject(RejectInvalidField, "unknown relationship or scope of a session")
	}
	if s.Parent, err = c.claim(w.GetParent()); err != nil {
		return nil, err
	}
	if s.Root, err = c.claim(w.GetRoot()); err != nil {
		return nil, err
	}
	if s.Parent != nil && *s.Parent == s.ID {
		return nil, reject(RejectInvalidField, "a session that is its own parent")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.sessions[w.GetIndex()]; before != nil {
		if before.ID != s.ID {
			return nil, reject(RejectInvalidField, "two sessions with one index")
		}
		s.Ordinal, s.Meta = before.Ordinal, before.Meta
	}
	c.sessions[w.GetIndex()] = s
	return s, nil
}

func (c *Converter) claim(ref *historyv1.SessionRef) (*Digest, error) {
	if ref == nil {
		return nil, nil
	}
	_, id, err := c.Resolve(ref)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

func knownScope(s historyv1.Scope) bool { return s >= 0 && int(s) < len(scopeNames) }

// maxTitle is the length of a title in characters.
const maxTitle = 200

// SetMetadata replaces what is known of a session beside its records. Strings over the limit for metadata are left out, the title is
// made one line of at most 200 characters. The error is a *Rejection: the session was not declared.
func (c *Converter) SetMetadata(w *historyv1.SessionMetadata) (*Session, error) {
	s := c.Session(w.GetIndex())
	if s == nil {
		return nil, reject(RejectInvalidField, "metadata of a session that was not declared")
	}
	s.Meta = SessionMeta{
		Title: title(w.GetTitle()), Model: metaText(w.GetModel()), AgentName: metaText(w.GetAgentName()), CWD: metaText(w.GetCwd()),
		WorkspaceLabel: metaText(w.GetWorkspaceLabel()), Branch: metaText(w.GetBranch()), LastBranch: metaText(w.GetLastBranch()),
		Version: metaText(w.GetVersion()), LastVersion: metaText(w.GetLastVersion()),
		Entrypoint: metaText(w.GetEntrypoint()), LastEntrypoint: metaText(w.GetLastEntrypoint()),
		StartedAt: metaTime(w.StartedAtMs), EndedAt: metaTime(w.EndedAtMs), ApproximateTimes: w.GetApproximateTimes(),
	}
	for _, model := range w.GetModels() {
		if model = metaText(model); model != "" {
			s.Meta.Models = append(s.Meta.Models, model)
		}
	}
	return s, nil
}

func metaText(value string) string {
	if len(value) > MaxText || !utf8.ValidString(value) {
		return ""
	}
	return value
}

func metaTime(at *int64) *int64 {
	if at == nil || *at < minTime || *at > maxTime {
		return nil
	}
	copied := *at
	return &copied
}

func title(value string) string {
	value = strings.TrimSpace(onscreen.Plain(metaText(value), MaxText))
	if characters := []rune(value); len(characters) > maxTitle {
		value = strings.TrimSpace(string(characters[:maxTitle]))
	}
	return value
}
