package record

// Revisions of the record contract. A generation that was written under another one is rebuilt.
const (
	RecordVersion         = 3
	NormalizationRevision = 1
	PolicyRevision        = 4
	ActivityRevision      = 1
)

const discoveryExclusion = "ctx_retrieval_derived"

// AppendCoreJSON appends the Core record of an event: one canonical JSON object with everything that is known of the event, its
// session and its source. Ids stand as whole digests in hex, times as Unix milliseconds. The sizes of a record refer to this form.
func AppendCoreJSON(dst []byte, e *Event, s *Session) []byte {
	w := writer{buf: dst}
	w.core(e, s)
	return w.buf
}

// measure returns the lengths of the Core record and of its content without building them.
func measure(e *Event, s *Session) (encoded, content uint64) {
	w := writer{counting: true, scratch: e.own.buf[:0]}
	w.content(e)
	content = uint64(w.n)
	w.n = 0
	w.envelope(e, s, func() { w.n += int(content) })
	e.own.buf = w.scratch[:0]
	return uint64(w.n), content
}

func (w *writer) core(e *Event, s *Session) {
	w.envelope(e, s, func() { w.content(e) })
}

// envelope writes the record around its content. All keys are in canonical order.
func (w *writer) envelope(e *Event, s *Session, content func()) {
	w.open()
	w.optionalText("agent_scope", e.Scope.String())
	w.key("content")
	content()
	w.comma = true
	if e.Copy != nil {
		w.key("event_copy")
		w.open()
		w.hexMember("ancestor_event_id", e.Copy.Event[:])
		w.hexMember("ancestor_session_id", e.Copy.Session[:])
		w.textMember("proof", e.Copy.Proof.String())
		w.close()
	}
	w.hexMember("event_id", e.ID[:])
	w.uintMember("event_sequence", e.Sequence)
	if e.Suborder != 0 {
		w.uintMember("event_suborder", uint64(e.Suborder))
	}
	w.textMember("event_type", e.Type)
	if len(e.NativeID) > 0 {
		w.key("native_event_id")
		w.typedKey(e.NativeID)
	}
	w.uintMember("normalization_revision", NormalizationRevision)
	if e.Timed {
		w.intMember("occurred_at_unix_ms", e.OccurredAt)
	}
	if s.Parent != nil {
		w.hexMember("parent_session_id", s.Parent[:])
	}
	w.textMember("parser_revision", s.ParserRevision)
	w.optionalText("provider_session_id", s.ProviderSessionID)
	w.uintMember("record_version", RecordVersion)
	w.optionalText("role", e.Role)
	if s.Root != nil {
		w.hexMember("root_session_id", s.Root[:])
	}
	w.hexMember("session_id", s.ID[:])
	w.optionalText("session_relationship", s.Relationship.String())
	w.key("source")
	w.source(s)
	w.close()
}

func (w *writer) hexMember(key string, b []byte) {
	w.key(key)
	w.hex(b)
}

// source writes the source key of a session: where its records come from and how they were read.
func (w *writer) source(s *Session) {
	w.open()
	w.key("anchor")
	w.anchor(s.Anchor)
	w.hexMember("identity", s.Source[:])
	w.textMember("provider", s.Provider)
	w.uintMember("provider_identity_version", uint64(s.IdentityVersion))
	w.textMember("schema_variant", s.SchemaVariant)
	w.textMember("source_format", s.SourceFormat)
	w.close()
}

func (w *writer) content(e *Event) {
	w.open()
	if e.Activity != nil {
		w.key("activity")
		w.activity(e)
	}
	if e.Excluded {
		w.textMember("discovery_exclusion", discoveryExclusion)
	}
	w.key("normalized_body")
	if e.HasBody {
		w.quotedValue(e, e.Body)
	} else {
		w.lit("null")
	}
	w.uintMember("policy_revision", PolicyRevision)
	w.key("policy_status")
	if e.Policy == PolicySelected {
		w.text(e.Policy.String())
	} else {
		w.open()
		w.key(e.Policy.String())
		w.open()
		w.textMember("reason", e.PolicyReason)
		w.close()
		w.close()
	}
	w.key("structured_content")
	if len(e.Structured) > 0 {
		w.raw(e.Structured)
	} else {
		w.lit("null")
	}
	w.close()
}
