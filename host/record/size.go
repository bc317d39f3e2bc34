package record

// Revisions of the record contract. A generation that was written under another one is rebuilt.
const (
	RecordVersion         = 3
	NormalizationRevision = 1
	PolicyRevision        = 4
	ActivityRevision      = 1
)

// AppendCoreJSON appends the Core record of an event: one canonical JSON object with everything that is known of the event, its
// session and its source. Ids stand as whole digests in hex, times as Unix milliseconds. The sizes of a record refer to this form.
func AppendCoreJSON(dst []byte, e *Event, s *Session) []byte {
	w := writer{buf: dst}
	w.core(e, s)
	return w.buf
}

// measure returns the lengths of the Core record and of its content without building them.
func measure(e *Event, s *Session) (encoded, content uint64) {
	w := writer{counting: true, buf: e.own.buf[:0]}
	content = uint64(w.core(e, s))
	e.own.buf = w.buf[:0]
	return uint64(w.size()), content
}

// core writes the record and returns the length of its content. All keys are in canonical order.
func (w *writer) core(e *Event, s *Session) (content int) {
	w.open()
	w.optionalText("agent_scope", e.Scope.String())
	w.key("content")
	content = w.size()
	w.content(e)
	content = w.size() - content
	if e.Copy != nil {
		w.key("event_copy")
		w.open()
		w.hex("ancestor_event_id", &e.Copy.Event)
		w.hex("ancestor_session_id", &e.Copy.Session)
		w.text("proof", e.Copy.Proof.String())
		w.close()
	}
	w.hex("event_id", &e.ID)
	w.uint("event_sequence", e.Sequence)
	if e.Suborder != 0 {
		w.uint("event_suborder", uint64(e.Suborder))
	}
	w.text("event_type", e.Type)
	w.typedKey("native_event_id", e.NativeID)
	w.uint("normalization_revision", NormalizationRevision)
	if e.Timed {
		w.int("occurred_at_unix_ms", e.OccurredAt)
	}
	w.hex("parent_session_id", s.Parent)
	w.text("parser_revision", s.ParserRevision)
	w.optionalText("provider_session_id", s.ProviderSessionID)
	w.uint("record_version", RecordVersion)
	w.optionalText("role", e.Role)
	w.hex("root_session_id", s.Root)
	w.hex("session_id", &s.ID)
	w.optionalText("session_relationship", s.Relationship.String())
	w.source(s)
	w.close()
	return content
}

// source writes the source key of a session: where its records come from and how they were read.
func (w *writer) source(s *Session) {
	w.key("source")
	w.open()
	w.key("anchor")
	w.buf = appendAnchorJSON(w.buf, s.Anchor)
	w.hex("identity", &s.Source)
	w.text("provider", s.Provider)
	w.uint("provider_identity_version", uint64(s.IdentityVersion))
	w.text("schema_variant", s.SchemaVariant)
	w.text("source_format", s.SourceFormat)
	w.close()
}

func (w *writer) content(e *Event) {
	w.open()
	w.activity(e)
	w.exclusion(e)
	w.nulls = true
	w.body("normalized_body", e, e.HasBody)
	w.nulls = false
	w.uint("policy_revision", PolicyRevision)
	if e.Policy == PolicySelected {
		w.text("policy_status", e.Policy.String())
	} else {
		w.key("policy_status")
		w.open()
		w.key(e.Policy.String())
		w.open()
		w.text("reason", e.PolicyReason)
		w.close()
		w.close()
	}
	w.nulls = true
	w.structured(e, len(e.Structured) > 0)
	w.nulls = false
	w.close()
}
