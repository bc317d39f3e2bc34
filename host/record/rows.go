package record

import "strconv"

// rangeRowVersion is the schema version of a range row.
const rangeRowVersion = 1

// AppendShownRow appends the row of an event as show gives it. Members without a value are left out; inside captured values and
// structured content everything stays.
func AppendShownRow(dst []byte, e *Event, s *Session) []byte {
	w := writer{buf: dst}
	w.open()
	w.uuid("ctx_event_id", e.ID)
	w.uuid("item_id", e.ID)
	w.text("record_type", "event")
	w.uuid("ctx_session_id", s.ID)
	w.origin(s)
	w.copied(e.Copy)
	w.optionalText("agent_scope", e.Scope.String())
	w.uint("sequence", e.Sequence)
	w.text("event_type", e.Type)
	w.optionalText("role", e.Role)
	w.time("occurred_at", e)
	w.body("text", e, e.HasBody)
	w.structured(e, len(e.Structured) > 0)
	w.key("content")
	w.open()
	w.bool("complete", e.Policy == PolicySelected)
	w.text("policy_status", e.Policy.String())
	w.optionalText("policy_reason", e.PolicyReason)
	w.exclusion(e)
	w.close()
	w.activity(e)
	w.close()
	return w.buf
}

// origin writes what the rows of an event and of a session share.
func (w *writer) origin(s *Session) {
	w.text("provider", s.Provider)
	w.optionalText("provider_session_id", s.ProviderSessionID)
	w.text("source_format", s.SourceFormat)
	w.lineage(s)
}

func (w *writer) lineage(s *Session) {
	w.optionalUUID("parent_ctx_session_id", s.Parent)
	w.optionalUUID("root_ctx_session_id", s.Root)
	w.optionalText("session_relationship", s.Relationship.String())
}

func (w *writer) copied(c *Copy) {
	if !w.member("event_copy", c != nil) {
		return
	}
	w.open()
	w.uuid("ancestor_ctx_session_id", c.Session)
	w.uuid("ancestor_ctx_event_id", c.Event)
	w.text("proof", c.Proof.String())
	w.close()
}

func (w *writer) body(key string, e *Event, there bool) {
	if w.member(key, there) {
		w.quotedValue(e, e.Body)
	}
}

func (w *writer) structured(e *Event, there bool) {
	if w.member("structured_content", there) {
		w.raw(e.Structured)
	}
}

// exclusion writes the mark of a record that search does not discover.
func (w *writer) exclusion(e *Event) {
	if e.Excluded {
		w.text("discovery_exclusion", "ctx_retrieval_derived")
	}
}

// AppendSession appends the session object of show. Members without a value are left out; the label of the workspace is given only
// when no directory is known.
func AppendSession(dst []byte, s *Session, state string) []byte {
	w := writer{buf: dst}
	w.open()
	w.uuid("id", s.ID)
	w.uuid("item_id", s.ID)
	w.uuid("ctx_session_id", s.ID)
	w.text("record_type", "session")
	w.optionalText("title", s.Meta.Title)
	w.text("source_state", state)
	if s.Meta.CWD == "" {
		w.optionalText("workspace_label", s.Meta.WorkspaceLabel)
	}
	w.origin(s)
	w.optionalText("agent_scope", s.Scope.String())
	w.close()
	return w.buf
}

// AppendRangeRow appends the row of an event as list and query give it. Members without a value are null, except activity, which is
// there only for the full content and when the event has one.
func AppendRangeRow(dst []byte, e *Event, s *Session, content ContentProjection) []byte {
	w := writer{buf: dst, nulls: true}
	w.open()
	w.uint("schema_version", rangeRowVersion)
	w.uint("record_version", RecordVersion)
	w.uuid("ctx_event_id", e.ID)
	w.uuid("ctx_source_id", s.Source)
	w.uuid("ctx_session_id", s.ID)
	w.lineage(s)
	w.copied(e.Copy)
	w.time("occurred_at", e)
	if w.member("occurred_at_ms", e.Timed) {
		w.buf = strconv.AppendInt(w.buf, e.OccurredAt, 10)
	}
	w.uint("sequence", e.Sequence)
	w.text("provider", s.Provider)
	w.text("source_format", s.SourceFormat)
	w.source(s)
	w.optionalText("provider_session_id", s.ProviderSessionID)
	w.typedKey("native_event_id", e.NativeID)
	w.text("event_type", e.Type)
	w.optionalText("agent_scope", e.Scope.String())
	w.optionalText("role", e.Role)
	w.text("parser_revision", s.ParserRevision)
	w.uint("normalization_revision", NormalizationRevision)
	w.body("text", e, e.HasBody && content != ContentNone)
	w.structured(e, len(e.Structured) > 0 && content == ContentFull)
	w.key("content")
	w.open()
	w.bool("complete", e.Policy == PolicySelected)
	w.uint("policy_revision", PolicyRevision)
	w.text("policy_status", e.Policy.String())
	w.optionalText("policy_reason", e.PolicyReason)
	w.exclusion(e)
	w.close()
	w.citations(e, s)
	w.text("content_projection", content.String())
	if w.nulls = false; content == ContentFull {
		w.activity(e)
	}
	w.close()
	return w.buf
}

// citations writes the one citation of a range row. Its session_id is the provider's.
func (w *writer) citations(e *Event, s *Session) {
	w.key("citations")
	w.lit("[")
	w.open()
	w.text("target_type", "event")
	w.uuid("ctx_event_id", e.ID)
	w.uuid("ctx_session_id", s.ID)
	w.text("label", e.Type)
	w.time("time", e)
	w.text("provider", s.Provider)
	w.optionalText("session_id", s.ProviderSessionID)
	w.uint("event_seq", e.Sequence)
	w.close()
	w.lit("]")
}

// activity writes the activity of an event, if it has one, with the names of activity revision 1. It is in canonical form, as it is a
// member of the Core record as well as of the rows; captured values stand in it as they were admitted.
func (w *writer) activity(e *Event) {
	if e.Activity != nil {
		w.key("activity")
		w.activityObject(e, e.Activity)
	}
}

func (w *writer) activityObject(e *Event, a *Activity) {
	w.open()
	if len(a.Facts) > 0 {
		w.key("facts")
		w.facts(a.Facts)
	}
	if call := a.Invocation; call != nil {
		w.key("invocation")
		w.open()
		w.capture("arguments", e, &call.Arguments, true)
		w.optionalText("protocol", call.Protocol)
		w.optionalText("server", call.Server)
		if call.Started {
			w.int("started_at_unix_ms", call.StartedAt)
		}
		w.text("tool", call.Tool)
		w.close()
	}
	w.typedKey("provider_call_id", a.CallID)
	if r := a.Result; r != nil {
		w.key("result")
		w.open()
		if r.Completed {
			w.int("completed_at_unix_ms", r.CompletedAt)
		}
		if r.HasDuration {
			w.uint("duration_ns", r.DurationNS)
		}
		w.optionalText("status", r.Status)
		w.capture("structured_content", e, &r.Structured, true)
		w.capture("text", e, &r.Text, false)
		w.close()
	}
	w.uint("revision", ActivityRevision)
	w.close()
}

func (w *writer) facts(facts []Fact) {
	w.lit("[")
	for i := range facts {
		if i > 0 {
			w.lit(",")
		}
		w.open()
		w.text("kind", facts[i].Kind.String())
		w.key("value")
		w.quoted(facts[i].Value)
		w.close()
	}
	w.lit("]")
}

func (w *writer) capture(key string, e *Event, c *Capture, json bool) {
	w.key(key)
	w.open()
	w.text("capture_status", c.Status.String())
	switch {
	case c.Status == CaptureOmitted:
		if c.HasObserved && json {
			w.uint("observed_encoded_bytes", c.Observed)
		} else if c.HasObserved {
			w.uint("observed_bytes", c.Observed)
		}
		w.text("reason", c.Reason)
	case c.Status == CapturePresent && json:
		w.key("value")
		w.jsonValue(e, c.Value)
	case c.Status == CapturePresent:
		w.key("value")
		w.quotedValue(e, c.Value)
	}
	w.close()
}
