package refresh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// scan is the reading of one source. The stream goroutine owns it until the source ends, the finishing goroutine after that;
// what the workers of the store touch is guarded or atomic.
type scan struct {
	*item
	ordinal uint32
	asked   historyv1.Mode
	mode    historyv1.Mode // as the provider began it
	todo    uint64         // bytes to read, for progress

	begun, ended bool
	read         uint64 // bytes reported so far
	converter    *record.Converter
	writer       *core.SourceWriter
	linker       *record.Linker
	rejections   []core.Rejection // at most core.MaxRejections of this scan
	rejected     uint64           // told by the provider in this scan

	described []*record.Session // sessions with their metadata

	refused atomic.Uint64 // events that the host rejected
	mu      sync.Mutex
	broken  error // first rule that the provider broke inside a batch
	failure *failure

	// Results, valid after the run's finishing group.
	again    bool              // must be read once more, in full
	stored   *core.Certificate // what was certified; nil when nothing new was
	same     bool              // read, and found to be what is stored already
	lost     bool              // vanished while it was read
	events   uint64            // stored by this run
	doubles  uint64            // refused, because they are stored already
	sessions uint64
	edges    uint64 // links to a parent session
}

// errBroken marks a batch that stopped because of what the provider sent, not because of the store.
var errBroken = errors.New("the provider broke a rule")

// scan reads all planned sources: the providers side by side, each over one stream. Sources whose append turned out to need
// the whole file are read once more.
func (r *run) scan(p *plan) error {
	for range 2 {
		var wait sync.WaitGroup
		for provider, scans := range p.scans {
			if len(scans) > 0 {
				wait.Go(func() { r.stream(provider, scans) })
			}
		}
		wait.Wait()
		r.finishing.Wait()
		if err := r.stopped(); err != nil {
			return err
		}
		if !r.collect(p) {
			return nil
		}
	}
	return nil
}

// collect moves finished scans into the tally and leaves in the plan what has to be read again.
func (r *run) collect(p *plan) (again bool) {
	for provider, scans := range p.scans {
		var rest []*scan
		for _, s := range scans {
			if s.again && s.failure == nil {
				rest = append(rest, &scan{
					item: s.item, ordinal: uint32(len(rest)), asked: historyv1.Mode_MODE_FULL, todo: s.wire.GetSize(),
				})
				continue
			}
			r.tally.scans = append(r.tally.scans, s)
		}
		p.scans[provider] = rest
		again = again || len(rest) > 0
	}
	return again
}

// stream runs the scan of one provider. The end of the stream ends every source that did not end by itself.
func (r *run) stream(p *provider, scans []*scan) {
	var sent atomic.Int64
	next := func() (*historyv1.ScanSource, bool) {
		n := int(sent.Load())
		if n == len(scans) || r.ctx.Err() != nil {
			return nil, false
		}
		request, err := r.request(scans[n])
		if err != nil {
			r.fail(err)
			return nil, false
		}
		if n == 0 {
			for _, s := range p.routes {
				if s.index >= 0 {
					request.Routes = append(request.Routes, s.wire())
				}
			}
		}
		sent.Store(int64(n + 1))
		return request, true
	}
	err := p.plugin.Scan(r.ctx, next, func(m *historyv1.ScanMessage) error {
		source, ok := sourceOf(m)
		if !ok || int64(source) >= sent.Load() {
			return errors.New("a message of no source")
		}
		return r.message(scans[source], m)
	})
	if err != nil && r.ctx.Err() == nil {
		r.log("provider %s: scan: %v", p.id, err)
	}
	for _, s := range scans {
		if s.ended {
			continue
		}
		s.ended = true
		r.abandon(s, classInternal, "the provider stopped before the source ended")
	}
}

// request builds the message that asks for a source.
func (r *run) request(s *scan) (*historyv1.ScanSource, error) {
	m := &historyv1.ScanSource{Ordinal: s.ordinal, RoutePath: s.route.Path, Source: s.wire, Mode: s.asked}
	s.linker = new(record.Linker)
	if s.asked != historyv1.Mode_MODE_APPEND {
		return m, nil
	}
	stored, err := r.base.Frontier(s.source)
	if err != nil {
		return nil, err
	}
	frontier, links, ok := splitFrontier(stored)
	if !ok || s.linker.RestoreState(links) != nil {
		// The state is of no use, so the source is read from its start.
		s.linker = new(record.Linker)
		s.asked, m.Mode = historyv1.Mode_MODE_FULL, historyv1.Mode_MODE_FULL
		return m, nil
	}
	c := s.item.cert
	m.Frontier, m.CertifiedBytes, m.ContentDigest = frontier, c.CertifiedBytes, c.ContentDigest[:]
	m.Counts = &historyv1.Counts{
		Complete: c.Counts.Complete, Retained: c.Counts.Retained, Rejected: c.Counts.Rejected, Ignored: c.Counts.Ignored,
	}
	return m, nil
}

func sourceOf(m *historyv1.ScanMessage) (uint32, bool) {
	switch m := m.GetMessage().(type) {
	case *historyv1.ScanMessage_Begin:
		return m.Begin.GetSource(), true
	case *historyv1.ScanMessage_Batch:
		return m.Batch.GetSource(), true
	case *historyv1.ScanMessage_End:
		return m.End.GetSource(), true
	case *historyv1.ScanMessage_Failure:
		return m.Failure.GetSource(), true
	}
	return 0, false
}

// message handles one message of a source. A source that breaks the order of messages fails alone. The error ends the stream:
// the run is over.
func (r *run) message(s *scan, m *historyv1.ScanMessage) error {
	if s.ended {
		return context.Cause(r.ctx)
	}
	var err error
	switch m := m.GetMessage().(type) {
	case *historyv1.ScanMessage_Begin:
		err = r.begin(s, m.Begin)
	case *historyv1.ScanMessage_Batch:
		err = r.batch(s, m.Batch)
	case *historyv1.ScanMessage_End:
		err = r.end(s, m.End)
	case *historyv1.ScanMessage_Failure:
		s.ended = true
		r.abandon(s, knownClass(m.Failure.GetClass()), oneLine(m.Failure.GetMessage()))
	}
	if err != nil {
		s.ended = true
		r.log("provider %s: source %s: %v", s.provider.id, s.source, err)
		r.abandon(s, classInternal, "the provider sent something that breaks the protocol")
	}
	return context.Cause(r.ctx)
}

func (r *run) begin(s *scan, m *historyv1.SourceBegin) error {
	if s.begun {
		return errors.New("a second begin")
	}
	s.begun, s.mode = true, m.GetMode()
	switch {
	case s.mode == historyv1.Mode_MODE_FULL:
		if s.asked == historyv1.Mode_MODE_APPEND {
			s.linker = new(record.Linker)
		}
	case s.mode != historyv1.Mode_MODE_APPEND || s.asked != historyv1.Mode_MODE_APPEND:
		return fmt.Errorf("mode %d was answered to mode %d", s.mode, s.asked)
	}
	converter, err := record.NewConverter(record.SourceSpec{
		Provider: s.provider.id, Format: s.wire.GetFormat(), Variant: s.format.variant, IdentityVersion: s.format.version,
		ParserRevision: s.format.revision, Anchor: s.wire.GetAnchor(), Lineage: s.route.lineage,
	})
	if err != nil {
		return err
	}
	s.converter = converter
	r.meter.reading(s.path())
	return nil
}

// batch hands one batch to the workers of the store. It waits only while too much is queued there.
func (r *run) batch(s *scan, b *historyv1.Batch) error {
	if !s.begun {
		return errors.New("a batch before the begin")
	}
	s.reject(b.GetRejections())
	if n := min(b.GetReadBytes(), s.todo); n > s.read {
		r.meter.bytes.Add(n - s.read)
		s.read = n
	}
	if len(b.GetSessions()) == 0 && len(b.GetEvents()) == 0 {
		return nil
	}
	w, err := r.open(s)
	if err != nil {
		r.fail(err)
		return nil
	}
	err = w.AddBatch(batchBytes(b), func(emit func(*record.Event) error) error { return r.convert(s, b, emit) })
	if err != nil && !s.isBroken() && fault.Code(err) != fault.InvalidRequest {
		r.fail(err) // what the source itself did wrong is told when it ends
	}
	return nil
}

// open returns the writer of a source and makes it at the first use.
func (r *run) open(s *scan) (*core.SourceWriter, error) {
	if s.writer != nil {
		return s.writer, nil
	}
	c, err := r.writing()
	if err != nil {
		return nil, err
	}
	if s.mode == historyv1.Mode_MODE_APPEND {
		s.writer, err = c.Append(s.spec())
	} else {
		s.writer, err = c.Replace(s.spec())
	}
	return s.writer, err
}

func (s *scan) spec() core.SourceSpec {
	source, descriptor := s.converter.Source()
	return core.SourceSpec{
		Source: source, Descriptor: descriptor, Provider: s.provider.id, Format: s.wire.GetFormat(), Variant: s.format.variant,
		IdentityVersion: s.format.version, Anchor: s.converter.Anchor(),
	}
}

// events are reused by the workers; the store copies what it keeps.
var events = sync.Pool{New: func() any { return new(record.Event) }}

// convert turns a batch into records, on a worker of the store. Batches of one source come here one after the other.
func (r *run) convert(s *scan, b *historyv1.Batch, emit func(*record.Event) error) error {
	for _, w := range b.GetSessions() {
		if err := s.declare(w); err != nil {
			return err
		}
	}
	e := events.Get().(*record.Event)
	defer events.Put(e)
	var spoken, calls uint64
	for _, w := range b.GetEvents() {
		session := s.converter.Session(w.GetSession())
		if session == nil {
			return s.breaks(errors.New("an event of a session that was not declared"))
		}
		if err := s.converter.FromWire(w, e); err != nil {
			s.refuse(err)
			continue
		}
		s.linker.Observe(e)
		if err := record.Admit(e, session); err != nil {
			s.refuse(err)
			continue
		}
		switch e.Type {
		case record.Message:
			spoken++
		case record.ToolCall:
			calls++
		}
		if err := emit(e); err != nil {
			return err
		}
	}
	r.meter.spoken.Add(spoken)
	r.meter.calls.Add(calls)
	r.meter.events.Add(uint64(len(b.GetEvents())))
	return nil
}

// declare adds a session to the source.
func (s *scan) declare(w *historyv1.Session) error {
	first := s.converter.Session(w.GetIndex()) == nil
	session, err := s.converter.AddSession(w)
	if err != nil {
		return s.breaks(err)
	}
	ordinal, err := s.writer.Session(session)
	if err != nil {
		return err
	}
	s.converter.SetOrdinal(w.GetIndex(), ordinal)
	if first {
		s.sessions++
		if session.Parent != nil {
			s.edges++
		}
	}
	return nil
}

// breaks notes the first rule that the provider broke inside a batch.
func (s *scan) breaks(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
	}
	return errBroken
}

func (s *scan) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken != nil
}

// refuse notes an event that cannot be stored. It costs that record only.
func (s *scan) refuse(err error) {
	if s.refused.Add(1) > core.MaxRejections {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rejections) >= core.MaxRejections {
		return
	}
	detail := core.Rejection{Locator: s.wire.GetLocator(), Detail: "the record cannot be stored"}
	var rejection *record.Rejection
	if errors.As(err, &rejection) {
		detail.PayloadType, detail.Detail = rejection.Code, oneLine(rejection.Detail)
	}
	s.rejections = append(s.rejections, detail)
}

// batchBytes estimates what a batch holds in memory.
func batchBytes(b *historyv1.Batch) int {
	const perEvent, perSession = 512, 1024
	n := perSession*len(b.GetSessions()) + perEvent*len(b.GetEvents())
	for _, e := range b.GetEvents() {
		n += len(e.GetStructured()) + len(e.GetBody().GetInline()) + len(e.GetInvocation().GetArguments().GetValue().GetInline()) +
			len(e.GetResult().GetText().GetValue().GetInline()) + len(e.GetResult().GetStructured().GetValue().GetInline())
		for _, f := range e.GetFacts() {
			n += len(f.GetValue())
		}
	}
	return n
}

// reject notes the records that the provider refused.
func (s *scan) reject(refused []*historyv1.Rejection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range refused {
		s.rejected++
		if len(s.rejections) < core.MaxRejections {
			s.rejections = append(s.rejections, rejectionOf(w, s.wire.GetLocator()))
		}
	}
}

func rejectionOf(w *historyv1.Rejection, locator string) core.Rejection {
	rejection := core.Rejection{
		Locator: w.GetLocator(), Line: w.GetLine(), PayloadType: oneLine(w.GetPayloadType()), Detail: oneLine(w.GetDetail()),
	}
	if w.ByteOffset != nil {
		rejection.ByteOffset, rejection.HasOffset = w.GetByteOffset(), true
	}
	if w.GetClass() == "damaged" {
		rejection.Class = "damaged"
	}
	if rejection.Locator == "" || !validLocator(rejection.Locator) {
		rejection.Locator = locator
	}
	return rejection
}
