package record

// AppendActivity appends the activity of an event as one JSON object, or null when it has none. The object is in canonical form:
// it is a member of the Core record as well as of the rows, and captured values stand in it as they were admitted.
func AppendActivity(dst []byte, e *Event) []byte {
	w := writer{buf: dst}
	w.activity(e)
	return w.buf
}

// All names are those of activity revision 1, the keys in canonical order.
func (w *writer) activity(e *Event) {
	a := e.Activity
	if a == nil {
		w.lit("null")
		return
	}
	w.open()
	if len(a.Facts) > 0 {
		w.key("facts")
		w.facts(a.Facts)
	}
	if a.Invocation != nil {
		w.key("invocation")
		w.invocation(e, a.Invocation)
	}
	if len(a.CallID) > 0 {
		w.key("provider_call_id")
		w.typedKey(a.CallID)
	}
	if a.Result != nil {
		w.key("result")
		w.result(e, a.Result)
	}
	w.uintMember("revision", ActivityRevision)
	w.close()
}

func (w *writer) facts(facts []Fact) {
	w.lit("[")
	for i := range facts {
		if i > 0 {
			w.lit(",")
		}
		w.open()
		w.textMember("kind", facts[i].Kind.String())
		w.key("value")
		w.quoted(facts[i].Value)
		w.close()
	}
	w.lit("]")
}

func (w *writer) invocation(e *Event, call *Invocation) {
	w.open()
	w.key("arguments")
	w.capture(e, &call.Arguments, true)
	w.optionalText("protocol", call.Protocol)
	w.optionalText("server", call.Server)
	if call.Started {
		w.intMember("started_at_unix_ms", call.StartedAt)
	}
	w.textMember("tool", call.Tool)
	w.close()
}

func (w *writer) result(e *Event, r *Result) {
	w.open()
	if r.Completed {
		w.intMember("completed_at_unix_ms", r.CompletedAt)
	}
	if r.HasDuration {
		w.uintMember("duration_ns", r.DurationNS)
	}
	w.optionalText("status", r.Status)
	w.key("structured_content")
	w.capture(e, &r.Structured, true)
	w.key("text")
	w.capture(e, &r.Text, false)
	w.close()
}

func (w *writer) capture(e *Event, c *Capture, json bool) {
	w.open()
	w.textMember("capture_status", c.Status.String())
	switch {
	case c.Status == CaptureOmitted:
		if c.HasObserved && json {
			w.uintMember("observed_encoded_bytes", c.Observed)
		} else if c.HasObserved {
			w.uintMember("observed_bytes", c.Observed)
		}
		w.textMember("reason", c.Reason)
	case c.Status == CapturePresent && json:
		w.key("value")
		w.jsonValue(e, c.Value)
	case c.Status == CapturePresent:
		w.key("value")
		w.quotedValue(e, c.Value)
	}
	w.close()
}
