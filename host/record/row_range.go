package record

// ContentProjection says how much of an event a range row holds.
type ContentProjection uint8

// Projections of the content of a row.
const (
	ContentFull ContentProjection = iota
	ContentText                   // no structured content, no activity
	ContentNone                   // no text either
)

var contentNames = [...]string{"full", "text", "none"}

// String returns full, text or none.
func (c ContentProjection) String() string { return name(contentNames[:], uint8(c)) }

// ParseContentProjection returns the projection of a name.
func ParseContentProjection(text string) (c ContentProjection, ok bool) {
	for i, n := range contentNames {
		if n == text {
			return ContentProjection(i), true
		}
	}
	return 0, false
}

// rangeRowVersion is the schema version of a range row.
const rangeRowVersion = 1

// AppendRangeRow appends the row of an event as list and query give it. Members without a value are null, except activity, which is
// there only for the full content and when the event has one.
func AppendRangeRow(dst []byte, e *Event, s *Session, content ContentProjection) []byte {
	w := writer{buf: dst}
	w.open()
	w.uintMember("schema_version", rangeRowVersion)
	w.uintMember("record_version", RecordVersion)
	w.uuidMember("ctx_event_id", e.ID)
	w.uuidMember("ctx_source_id", s.Source)
	w.uuidMember("ctx_session_id", s.ID)
	w.nullableUUID("parent_ctx_session_id", s.Parent)
	w.nullableUUID("root_ctx_session_id", s.Root)
	w.nullableText("session_relationship", s.Relationship.String())
	w.key("event_copy")
	if e.Copy != nil {
		w.copied(e.Copy)
	} else {
		w.lit("null")
	}
	w.nullableTime("occurred_at", e)
	if e.Timed {
		w.intMember("occurred_at_ms", e.OccurredAt)
	} else {
		w.null("occurred_at_ms")
	}
	w.uintMember("sequence", e.Sequence)
	w.textMember("provider", s.Provider)
	w.textMember("source_format", s.SourceFormat)
	w.key("source")
	w.source(s)
	w.nullableText("provider_session_id", s.ProviderSessionID)
	if len(e.NativeID) > 0 {
		w.key("native_event_id")
		w.typedKey(e.NativeID)
	} else {
		w.null("native_event_id")
	}
	w.textMember("event_type", e.Type)
	w.nullableText("agent_scope", e.Scope.String())
	w.nullableText("role", e.Role)
	w.textMember("parser_revision", s.ParserRevision)
	w.uintMember("normalization_revision", NormalizationRevision)
	w.rangeContent(e, content)
	w.key("citations")
	w.citation(e, s)
	w.textMember("content_projection", content.String())
	if content == ContentFull && e.Activity != nil {
		w.key("activity")
		w.activity(e)
	}
	w.close()
	return w.buf
}

func (w *writer) rangeContent(e *Event, content ContentProjection) {
	w.key("text")
	if e.HasBody && content != ContentNone {
		w.quotedValue(e, e.Body)
	} else {
		w.lit("null")
	}
	w.key("structured_content")
	if len(e.Structured) > 0 && content == ContentFull {
		w.raw(e.Structured)
	} else {
		w.lit("null")
	}
	w.key("content")
	w.open()
	w.boolMember("complete", e.Policy == PolicySelected)
	w.uintMember("policy_revision", PolicyRevision)
	w.textMember("policy_status", e.Policy.String())
	w.nullableText("policy_reason", e.PolicyReason)
	w.exclusion(e)
	w.close()
}

// citation writes the one citation of a range row. Its session_id is the provider's.
func (w *writer) citation(e *Event, s *Session) {
	w.lit("[")
	w.open()
	w.textMember("target_type", "event")
	w.uuidMember("ctx_event_id", e.ID)
	w.uuidMember("ctx_session_id", s.ID)
	w.textMember("label", e.Type)
	w.nullableTime("time", e)
	w.textMember("provider", s.Provider)
	w.nullableText("session_id", s.ProviderSessionID)
	w.uintMember("event_seq", e.Sequence)
	w.close()
	w.lit("]")
}

func (w *writer) nullableTime(key string, e *Event) {
	w.key(key)
	if !e.Timed {
		w.lit("null")
		return
	}
	w.time(e.OccurredAt)
}

// AppendSearchCitation appends the citation of a search result, an object. Its session_id is the ctx session id.
func AppendSearchCitation(dst []byte, e *Event, s *Session) []byte {
	w := writer{buf: dst}
	w.open()
	w.uuidMember("item_id", e.ID)
	w.textMember("target_type", "event")
	w.uuidMember("ctx_event_id", e.ID)
	w.uuidMember("ctx_session_id", s.ID)
	w.textMember("provider", s.Provider)
	w.uuidMember("session_id", s.ID)
	w.uintMember("event_seq", e.Sequence)
	w.close()
	return w.buf
}
