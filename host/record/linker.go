package record

import "slices"

// Linker finds the events that ctx itself caused by answering an agent: calls of its retrieval commands and the results linked to
// them. Feed it all events of one source in their order; it says which ones are excluded from discovery.
//
// A result is excluded only while its call id belongs to exactly one result of the source, which is known for certain at the end
// alone. The linker therefore decides at once and may take a decision back: after the last event, Retracted names the events that
// must become searchable again and that the store admits once more. This is rare: agents do not repeat call ids.
//
// Memory is bounded: call ids are kept as 32-bit hashes, past maxExact of them as a Bloom filter. A collision can only make a result
// look repeated, so that it stays searchable.
type Linker struct {
	seen     callSet
	pending  []uint32       // hashes of retrieval calls without a result, oldest first
	excluded []excludedCall // results excluded so far
	tainted  bool           // a result without a call id: no result of this source is unique for certain

	retracted []Digest
	fullScan  bool
}

// excludedCall is a call whose result is excluded.
type excludedCall struct {
	hash     uint32
	repeated bool     // a second invocation has the call id
	events   []Digest // the excluded results; none of a call that was restored
}

// Bounds of a linker.
const (
	maxPending  = 256 // the oldest call is forgotten; its result stays searchable
	maxExcluded = 512 // further results stay searchable
)

// Retracted returns the events that were excluded and must become searchable, because a later event made their link unproven.
// fullScan tells that one of them was excluded before the state was restored: the source must be read from the start.
func (l *Linker) Retracted() (events []Digest, fullScan bool) { return l.retracted, l.fullScan }

// Observe looks at the next event of the source and sets its Excluded mark.
func (l *Linker) Observe(e *Event) { e.Excluded = l.derived(e) && e.Policy == PolicySelected }

func (l *Linker) derived(e *Event) bool {
	a := e.Activity
	if a == nil || len(a.CallID) == 0 {
		if e.Type == ToolOutput { // other outputs without a call are of commands that people typed
			l.taint()
		}
		return false
	}
	hash := hashCall(a.CallID)
	var room [2]Verdict
	contributions := room[:0]
	if a.Invocation != nil {
		verdict := invocationVerdict(e)
		l.invoked(hash, verdict)
		contributions = append(contributions, verdict)
	}
	if a.Result != nil {
		verdict := VerdictUnknown
		if l.finished(hash, e) {
			verdict = VerdictDerived
		}
		contributions = append(contributions, verdict)
	}
	return Combine(contributions...) == VerdictDerived
}

// invoked notes an invocation.
func (l *Linker) invoked(hash uint32, verdict Verdict) {
	if !l.seen.add(hash) {
		// Two invocations: which one a result belongs to is not proven.
		l.pending = slices.DeleteFunc(l.pending, func(h uint32) bool { return h == hash })
		if x := l.find(hash); x >= 0 {
			l.excluded[x].repeated = true
		}
		return
	}
	if verdict != VerdictDerived {
		return
	}
	if len(l.pending) == maxPending {
		l.pending = slices.Delete(l.pending, 0, 1)
	}
	l.pending = append(l.pending, hash)
}

// finished notes a result and tells whether it is derived.
func (l *Linker) finished(hash uint32, e *Event) bool {
	if !l.seen.add(resultHash(hash)) {
		return l.finishedAgain(hash, e)
	}
	at := slices.Index(l.pending, hash)
	if at < 0 {
		return false
	}
	l.pending = slices.Delete(l.pending, at, at+1)
	if l.tainted || len(l.excluded) == maxExcluded || !resultProven(e) {
		return false
	}
	l.excluded = append(l.excluded, excludedCall{hash: hash, events: []Digest{e.ID}})
	return true
}

// finishedAgain handles a further result of a call id. One stored without a body, because the first carries it, does not count
// against the first and shares its exclusion unless it declares a failure; any other takes the exclusion of the first back.
func (l *Linker) finishedAgain(hash uint32, e *Event) bool {
	at := l.find(hash)
	if at < 0 {
		return false
	}
	if x := &l.excluded[at]; !e.HasBody && !x.repeated {
		if declaresFailure(e.Activity) {
			return false
		}
		x.events = append(x.events, e.ID)
		return true
	}
	l.retract(l.excluded[at])
	l.excluded = slices.Delete(l.excluded, at, at+1)
	return false
}

// taint takes all exclusions of results back and allows no further one.
func (l *Linker) taint() {
	for _, x := range l.excluded {
		l.retract(x)
	}
	l.excluded = nil
	l.tainted = true
}

func (l *Linker) retract(x excludedCall) {
	l.retracted = append(l.retracted, x.events...)
	l.fullScan = l.fullScan || len(x.events) == 0
}

// find returns the place of an excluded call, -1 if it is not excluded.
func (l *Linker) find(hash uint32) int {
	return slices.IndexFunc(l.excluded, func(x excludedCall) bool { return x.hash == hash })
}

// declaresFailure tells whether a result says that the call failed, or says something that is not known to mean success.
func declaresFailure(a *Activity) bool {
	if s := a.Result.Status; s != "" && s != "success" && s != "completed" {
		return true
	}
	for i := range a.Facts {
		f := &a.Facts[i]
		if f.Kind == FactProviderDisposition && string(f.Value) != "exit_code:0" {
			return true
		}
	}
	return false
}
