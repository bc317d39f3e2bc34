package record

import "encoding/binary"

// Storage form of a session, version 1, built like that of an event.
//
//	version, flags, ordinal, id, source, descriptor, provider, format, variant, identity version, anchor, key, kind,
//	provider session id, [parent], [root], relationship, scope, parser revision, metadata
const sessionVersion = 1

const (
	hasParent = 1 << iota
	hasRoot
	hasStartedAt
	hasEndedAt
	isApproximate
	sessionFlags
)

// Encode appends the storage form of a session.
func (s *Session) Encode(dst []byte) []byte {
	var flags byte
	set := func(is bool, flag byte) {
		if is {
			flags |= flag
		}
	}
	set(s.Parent != nil, hasParent)
	set(s.Root != nil, hasRoot)
	set(s.Meta.StartedAt != nil, hasStartedAt)
	set(s.Meta.EndedAt != nil, hasEndedAt)
	set(s.Meta.ApproximateTimes, isApproximate)
	dst = append(dst, sessionVersion, flags)
	dst = binary.AppendUvarint(dst, uint64(s.Ordinal))
	dst = append(dst, s.ID[:]...)
	dst = append(dst, s.Source[:]...)
	dst = append(dst, s.Descriptor[:]...)
	dst = appendBlob(dst, s.Provider)
	dst = appendBlob(dst, s.SourceFormat)
	dst = appendBlob(dst, s.SchemaVariant)
	dst = binary.AppendUvarint(dst, uint64(s.IdentityVersion))
	dst = appendBlob(dst, s.Anchor)
	dst = appendBlob(dst, s.Key)
	dst = appendBlob(dst, s.Kind)
	dst = appendBlob(dst, s.ProviderSessionID)
	if s.Parent != nil {
		dst = append(dst, s.Parent[:]...)
	}
	if s.Root != nil {
		dst = append(dst, s.Root[:]...)
	}
	dst = append(dst, byte(s.Relationship), byte(s.Scope))
	dst = appendBlob(dst, s.ParserRevision)
	for _, field := range s.Meta.texts() {
		dst = appendBlob(dst, *field)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.Meta.Models)))
	for _, model := range s.Meta.Models {
		dst = appendBlob(dst, model)
	}
	if s.Meta.StartedAt != nil {
		dst = binary.AppendVarint(dst, *s.Meta.StartedAt)
	}
	if s.Meta.EndedAt != nil {
		dst = binary.AppendVarint(dst, *s.Meta.EndedAt)
	}
	return dst
}

// texts lists the text fields in the order of the storage form: append only.
func (m *SessionMeta) texts() [11]*string {
	return [...]*string{
		&m.Title, &m.Model, &m.AgentName, &m.CWD, &m.WorkspaceLabel, &m.Branch, &m.LastBranch, &m.Version, &m.LastVersion,
		&m.Entrypoint, &m.LastEntrypoint,
	}
}

// Decode reads one session and copies what it keeps. The error is a fault of code index_corruption.
func (s *Session) Decode(src []byte) error {
	*s = Session{}
	r := reader{src: src}
	if v := r.byte(); v != sessionVersion {
		return corrupt("unknown session version %d", v)
	}
	flags := r.flags(sessionFlags)
	s.Ordinal = r.uint32()
	r.digest(&s.ID)
	r.digest(&s.Source)
	r.digest(&s.Descriptor)
	s.Provider = string(r.blob())
	s.SourceFormat = string(r.blob())
	s.SchemaVariant = string(r.blob())
	s.IdentityVersion = r.uint32()
	s.Anchor = append([]byte(nil), r.blob()...)
	s.Key = append([]byte(nil), r.blob()...)
	s.Kind = string(r.blob())
	s.ProviderSessionID = string(r.blob())
	if flags&hasParent != 0 {
		s.Parent = new(Digest)
		r.digest(s.Parent)
	}
	if flags&hasRoot != 0 {
		s.Root = new(Digest)
		r.digest(s.Root)
	}
	s.Relationship = Relationship(r.code(len(relationshipNames)))
	s.Scope = Scope(r.code(len(scopeNames)))
	s.ParserRevision = string(r.blob())
	for _, field := range s.Meta.texts() {
		*field = string(r.blob())
	}
	count := r.uint()
	if count > uint64(len(r.src)) {
		r.fail("number of models")
		count = 0
	}
	for range count {
		s.Meta.Models = append(s.Meta.Models, string(r.blob()))
	}
	if flags&hasStartedAt != 0 {
		at := r.int()
		s.Meta.StartedAt = &at
	}
	if flags&hasEndedAt != 0 {
		at := r.int()
		s.Meta.EndedAt = &at
	}
	s.Meta.ApproximateTimes = flags&isApproximate != 0
	return r.end()
}
