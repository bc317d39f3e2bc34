package history

import (
	"context"
	"crypto/sha256"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/redact"
)

// Bounds of one page.
const (
	PageEvents   = 100
	pageSoftSize = 1 << 20 // stored record bytes, and content bytes
)

// RangeQuery is a request that was found good as far as that goes without a generation.
type RangeQuery struct {
	plan      *rangePlan
	selection [sha256.Size]byte
	position  *rangePosition // of the cursor, nil at the start
}

// Check refuses what can be refused without opening an index.
func (req *RangeRequest) Check() (*RangeQuery, error) {
	plan, err := req.plan()
	if err != nil {
		return nil, err
	}
	q := &RangeQuery{plan: plan}
	if q.selection, err = plan.digest(); err != nil || plan.cursor == "" {
		return q, err
	}
	if q.position, err = decodeRangeCursor(plan.cursor); err != nil {
		return nil, err
	}
	if q.position.selection != q.selection {
		return nil, rangeFault(CursorRequestMismatch, "this cursor was made for other filters, another range or another direction")
	}
	return q, nil
}

// Range is a prepared listing over one pinned generation. It moves forward: every page continues where the last one ended. Close it.
type Range struct {
	*RangeQuery
	view *View
	set  *lexical.Set // nil: every event

	events rangeWalk
	ahead  *lexical.Doc // found, not yet given out
	items  int64        // given out so far
	ended  bool
	buf    []byte
	event  record.Event
}

// Events checks a request, pins the generation (that of the cursor when one is given) and prepares the selection. For the error
// object of its failures see RangeError.
func Events(ctx context.Context, store *core.Store, req RangeRequest) (*Range, error) {
	q, err := req.Check()
	if err != nil {
		return nil, err
	}
	return q.Events(ctx, store, nil)
}

// Events prepares the selection in lent, a generation that the caller has pinned and closes after the range. When it is nil, or the
// cursor was made in another one, the right generation is pinned here.
func (q *RangeQuery) Events(ctx context.Context, store *core.Store, lent *core.Generation) (*Range, error) {
	gen := lent
	var err error
	switch {
	case q.position != nil && (gen == nil || gen.ID() != q.position.generation):
		gen, err = store.PinID(ctx, q.position.generation)
	case gen == nil:
		gen, err = store.Pin(ctx)
	}
	if err != nil {
		return nil, err
	}
	r := &Range{RangeQuery: q, view: Over(store, gen)}
	if gen != lent {
		r.view.pinned = append(r.view.pinned, gen)
	}
	if err := r.prepare(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Range) prepare(ctx context.Context) error {
	p := r.position
	if p != nil && r.view.gen.ID() != p.generation {
		return rangeFault(CursorGenerationMismatch, "another generation was opened than the one of the cursor")
	}
	var err error
	if r.set, err = r.plan.selectDocuments(ctx, r.view.gen); err != nil {
		return err
	}
	var after *record.RangeKey
	if p != nil {
		if err := r.checkCoordinate(p.key); err != nil {
			return err
		}
		after = &p.key
	}
	r.events = r.walk(after)
	return nil
}

// checkCoordinate accepts a key that is inside the domain and names exactly one stored event of the selection.
func (r *Range) checkCoordinate(k record.RangeKey) error {
	bad := rangeFault(InvalidCursorCoordinate, "this cursor names no event of this selection")
	ms, timed := k.Time()
	if r.plan.ranged && (!timed || ms < r.plan.since || ms >= r.plan.until) {
		return bad
	}
	doc, found, err := r.view.gen.EventDoc(k.Event())
	if err != nil {
		return err
	}
	if !found || r.set != nil && !r.set.Has(doc) {
		return bad
	}
	var e record.Event
	if err := r.view.gen.Event(doc, &e); err != nil {
		return err
	}
	if record.RangeKeyOf(&e) != k {
		return bad
	}
	return nil
}

// Redact takes secrets out of what is given out from now on.
func (r *Range) Redact(with *redact.Redactor) { r.view.Redact = with }

// Close lets the generation go.
func (r *Range) Close() error {
	if r.events != nil {
		r.events.close()
		r.events = nil
	}
	return r.view.Close()
}

// Items tells how many events were given out so far.
func (r *Range) Items() int { return int(r.items) }

// peek finds the next document without giving it out; nil at the end.
func (r *Range) peek() (*lexical.Doc, error) {
	if r.ahead == nil && !r.ended {
		doc, ok, err := r.events.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			r.ended = true
			return nil, nil
		}
		r.ahead = &doc
	}
	return r.ahead, nil
}

// PageLimits bound one page.
type PageLimits struct {
	Events      int // at most this many events; 0 is 100
	RecordBytes int // > 0: refuse an event whose stored record, or whose content, is larger
}

// listed is one row of a page.
type listed struct {
	row              []byte
	key              record.RangeKey
	encoded, content uint64
}

// fill reads the rows of one page. The first event is always admitted.
func (r *Range) fill(ctx context.Context, limits PageLimits) ([]listed, error) {
	most := int64(limits.Events)
	if most <= 0 {
		most = PageEvents
	}
	most = min(most, r.plan.limit-r.items)
	var rows []listed
	var encoded, content uint64
	for int64(len(rows)) < most {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		doc, err := r.peek()
		if err != nil || doc == nil {
			return rows, err
		}
		e := &r.event
		if r.buf, err = r.view.gen.EventInto(r.buf, *doc, e); err != nil {
			return nil, err
		}
		if bound := uint64(limits.RecordBytes); bound > 0 && (e.EncodedBytes > bound || e.ContentBytes > bound) {
			if len(rows) > 0 {
				return rows, nil // the page ends before it; the next one fails
			}
			return nil, recordTooLarge(e, bound)
		}
		if len(rows) > 0 && (encoded+e.EncodedBytes > pageSoftSize || content+e.ContentBytes > pageSoftSize) {
			return rows, nil
		}
		row, err := r.row(e)
		if err != nil {
			return nil, err
		}
		encoded += e.EncodedBytes
		content += e.ContentBytes
		rows = append(rows, row)
		r.ahead = nil
		r.items++
	}
	return rows, nil
}

func (r *Range) row(e *record.Event) (listed, error) {
	s, err := r.view.session(e.Session)
	if err != nil {
		return listed{}, err
	}
	r.view.Redact.Event(e)
	return listed{
		row: record.AppendRangeRow(nil, e, s.Session, r.plan.content), key: record.RangeKeyOf(e),
		encoded: e.EncodedBytes, content: e.ContentBytes,
	}, nil
}

func recordTooLarge(e *record.Event, most uint64) error {
	return fault.New(fault.OutputLimitExceeded, "the stored event %s has %d bytes, more than the %d that fit an answer", e.ID,
		max(e.EncodedBytes, e.ContentBytes), most).WithRetry(true)
}

// cursorAfter is the cursor behind an event.
func (r *Range) cursorAfter(k record.RangeKey) string {
	p := rangePosition{generation: r.view.gen.ID(), selection: r.selection, key: k}
	return p.encode()
}
