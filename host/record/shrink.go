package record

const sizeLimit = "size_limit" // the reason of a value that was left out for its size

// budget is what the content limit counts.
type budget struct{ body, structured, activity int }

func (b budget) fits() bool {
	return b.structured <= MaxContent && b.body+b.structured+b.activity <= MaxContent
}

// shrink makes an event fit the content budget, see Admit.
func shrink(e *Event) error {
	b := budget{structured: len(e.Structured), activity: activityLen(e)}
	if e.HasBody {
		b.body = e.valueLen(e.Body)
	}
	if b.body > MaxContent {
		return reject(RejectTooLarge, "body of %d bytes", b.body)
	}
	for !b.fits() {
		withoutStructured := budget{body: b.body, activity: b.activity}
		switch {
		case b.structured > 0 && withoutStructured.fits():
			dropStructured(e)
			b.structured = 0
		case omitLargest(e):
			b.activity = activityLen(e)
		case hasFact(e):
			b.activity -= popFact(e)
		case b.structured > 0:
			dropStructured(e)
			b.structured = 0
		default:
			return reject(RejectTooLarge, "content of %d bytes", b.body+b.activity)
		}
	}
	if (!e.HasBody || b.body == 0) && b.structured == 0 && e.Activity == nil {
		return reject(RejectTooLarge, "nothing fits the content limit")
	}
	return nil
}

func activityLen(e *Event) int {
	if e.Activity == nil {
		return 0
	}
	w := writer{counting: true}
	w.activityObject(e, e.Activity)
	return w.size()
}

func captureLen(e *Event, c *Capture, json bool) int {
	w := writer{counting: true}
	w.capture("", e, c, json)
	return w.size()
}

// captures calls f for every captured value of an event.
func (e *Event) captures(f func(c *Capture, json bool)) {
	a := e.Activity
	if a != nil && a.Invocation != nil {
		f(&a.Invocation.Arguments, true)
	}
	if a != nil && a.Result != nil {
		f(&a.Result.Text, false)
		f(&a.Result.Structured, true)
	}
}

// dropStructured gives every value that lies in the structured content bytes of its own, then removes the content.
func dropStructured(e *Event) {
	detach := func(v *Value) {
		if len(v.Spans) > 0 {
			*v = Value{Inline: e.AppendValue(nil, *v)}
		}
	}
	detach(&e.Body)
	e.captures(func(c *Capture, _ bool) { detach(&c.Value) })
	e.Structured = nil
}

// omitLargest replaces the captured value whose omission saves most bytes. It returns false when none saves any.
func omitLargest(e *Event) bool {
	var best *Capture
	var omission Capture
	saved := 0
	e.captures(func(c *Capture, json bool) {
		if c.Status != CapturePresent {
			return
		}
		omitted := Capture{Status: CaptureOmitted, Reason: sizeLimit, Observed: uint64(e.valueLen(c.Value)), HasObserved: true}
		if saving := captureLen(e, c, json) - captureLen(e, &omitted, json); saving > saved {
			best, omission, saved = c, omitted, saving
		}
	})
	if best == nil {
		return false
	}
	*best = omission
	return true
}

func hasFact(e *Event) bool { return e.Activity != nil && len(e.Activity.Facts) > 0 }

// popFact removes the last fact and returns the bytes that this saves. There may be thousands, so the others are not measured again.
// An activity that becomes empty goes as a whole.
func popFact(e *Event) (saved int) {
	a := e.Activity
	last := len(a.Facts) - 1
	if last > 0 {
		w := writer{counting: true}
		w.facts(a.Facts[last:])
		a.Facts = a.Facts[:last]
		return w.size() - 1 // a list of one has two brackets, this fact had a comma before it
	}
	before := activityLen(e)
	a.Facts = nil
	if a.Invocation == nil && a.Result == nil {
		e.Activity = nil
	}
	return before - activityLen(e)
}
