package record

// SourceState tells whether the source of a session is still on disk.
type SourceState uint8

// Source states.
const (
	SourcePresent SourceState = iota
	SourceGone
)

// String returns present or gone.
func (s SourceState) String() string {
	if s == SourceGone {
		return "gone"
	}
	return "present"
}

// AppendShownRow appends the row of an event as show gives it. Members without a value are left out; inside captured values and
// structured content everything stays.
func AppendShownRow(dst []byte, e *Event, s *Session) []byte {
	w := writer{buf: dst}
	w.open()
	w.uuidMember("ctx_event_id", e.ID)
	w.uuidMember("item_id", e.ID)
	w.textMember("record_type", "event")
	w.uuidMember("ctx_session_id", s.ID)
	w.textMember("provider", s.Provider)
	w.optionalText("provider_session_id", s.ProviderSessionID)
	w.textMember("source_format", s.SourceFormat)
	w.optionalUUID("parent_ctx_session_id", s.Parent)
	w.optionalUUID("root_ctx_session_id", s.Root)
	w.optionalText("session_relationship", s.Relationship.String())
	if e.Copy != nil {
		w.key("event_copy")
		w.copied(e.Copy)
	}
	w.optionalText("agent_scope", e.Scope.String())
	w.uintMember("sequence", e.Sequence)
	w.textMember("event_type", e.Type)
	w.optionalText("role", e.Role)
	if e.Timed {
		w.key("occurred_at")
		w.time(e.OccurredAt)
	}
	if e.HasBody {
		w.key("text")
		w.quotedValue(e, e.Body)
	}
	if len(e.Structured) > 0 {
		w.key("structured_content")
		w.raw(e.Structured)
	}
	w.key("content")
	w.open()
	w.boolMember("complete", e.Policy == PolicySelected)
	w.textMember("policy_status", e.Policy.String())
	w.optionalText("policy_reason", e.PolicyReason)
	w.exclusion(e)
	w.close()
	if e.Activity != nil {
		w.key("activity")
		w.activity(e)
	}
	w.close()
	return w.buf
}

// exclusion writes the mark of a record that search does not discover.
func (w *writer) exclusion(e *Event) {
	if e.Excluded {
		w.textMember("discovery_exclusion", discoveryExclusion)
	}
}

func (w *writer) copied(c *Copy) {
	w.open()
	w.uuidMember("ancestor_ctx_session_id", c.Session)
	w.uuidMember("ancestor_ctx_event_id", c.Event)
	w.textMember("proof", c.Proof.String())
	w.close()
}

// AppendEventCopy appends the JSON object of a copy claim, null for none.
func AppendEventCopy(dst []byte, c *Copy) []byte {
	if c == nil {
		return append(dst, "null"...)
	}
	w := writer{buf: dst}
	w.copied(c)
	return w.buf
}

// AppendSession appends the session object of show. Members without a value are left out; the label of the workspace is given only
// when no directory is known.
func AppendSession(dst []byte, s *Session, state SourceState) []byte {
	w := writer{buf: dst}
	w.open()
	w.uuidMember("id", s.ID)
	w.uuidMember("item_id", s.ID)
	w.uuidMember("ctx_session_id", s.ID)
	w.textMember("record_type", "session")
	w.optionalText("title", s.Meta.Title)
	w.textMember("source_state", state.String())
	if s.Meta.CWD == "" {
		w.optionalText("workspace_label", s.Meta.WorkspaceLabel)
	}
	w.textMember("provider", s.Provider)
	w.optionalText("provider_session_id", s.ProviderSessionID)
	w.textMember("source_format", s.SourceFormat)
	w.optionalUUID("parent_ctx_session_id", s.Parent)
	w.optionalUUID("root_ctx_session_id", s.Root)
	w.optionalText("session_relationship", s.Relationship.String())
	w.optionalText("agent_scope", s.Scope.String())
	w.close()
	return w.buf
}
