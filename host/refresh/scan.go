package refresh

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/retention"
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// scan is the reading of one source. The stream goroutine owns it until the source ends, the finishing goroutine after that;
// what the workers of the store touch is guarded.
type scan struct {
	*item
	ordinal uint32
	asked   historyv1.Mode
	mode    historyv1.Mode // as the provider began it
	todo    uint64         // bytes to read, for progress
	length  int64          // of the file when it was asked for, -1 = unknown

	begun, ended bool
	read         uint64 // bytes reported so far
	converter    *record.Converter
	writer       *core.SourceWriter
	linker       *record.Linker

	// Used by one batch at a time.
	records   records
	left      map[uint32]fate // sessions that are left out
	forgotten []uint64        // tombstones of those
	yields    []uint64        // sources that would displace a stored session

	mu         sync.Mutex
	rejections []core.Rejection // at most core.MaxRejections of this scan
	broken     error            // first rule that the provider broke inside a batch
	failure    *failure

	// Results, valid after the run's finishing group.
	again    bool              // must be read once more, in full
	stored   *core.Certificate // what was certified; nil when nothing new was
	same     bool              // read, and found to be what is stored already
	lost     bool              // vanished while it was read
	events   uint64            // stored by this run
	doubles  uint64            // refused, because they are stored already
	sessions uint64
	skipped  uint64 // sessions that are forgotten
	edges    uint64 // links to a parent session
	rejected uint64 // records
}

// errBroken marks a batch that stopped because of what the provider sent, not because of the store.
var errBroken = errors.New("the provider broke a rule")

// maxRestarts bounds how often a provider that stopped by itself is started again in one run.
const maxRestarts = 3

// scan reads all planned sources: the providers side by side, each over one stream. Sources whose append turned out to need
// the whole file are read once more.
func (r *run) scan(p *plan) error {
	for again := true; again; {
		var wait sync.WaitGroup
		for provider, scans := range p.scans {
			wait.Go(func() { r.stream(provider, scans) })
		}
		wait.Wait()
		r.finishing.Wait()
		if err := r.stopped(); err != nil {
			return err
		}
		again = r.collect(p)
	}
	return nil
}

// collect moves finished scans into the tally and leaves in the plan what has to be read again; a full read never has to.
func (r *run) collect(p *plan) (again bool) {
	for provider, scans := range p.scans {
		var rest []*scan
		for _, s := range scans {
			if s.again {
				full := &scan{item: s.item, asked: historyv1.Mode_MODE_FULL, todo: s.wire.GetSize()}
				r.meter.reread(s, full.todo)
				rest = append(rest, full)
				continue
			}
			r.tally.scans = append(r.tally.scans, s)
		}
		p.scans[provider] = rest
		again = again || len(rest) > 0
	}
	return again
}

// stream reads sources of one provider. When its process stops in between, only the sources that it had begun fail: it is started
// again and asked for the others, first for those that it did not have yet.
func (r *run) stream(p *provider, scans []*scan) {
	for len(scans) > 0 && r.ctx.Err() == nil {
		if p.dead && !r.restart(p) {
			for _, s := range scans {
				r.abandon(s, classInternal, "the provider process stopped too often to read this source; import again, and see ctx doctor if it stays so")
			}
			return
		}
		sent, err := r.call(p, scans)
		p.dead = err != nil
		if err != nil && r.ctx.Err() == nil {
			r.log("provider %s: scan: %v", p.id, err)
		}
		var waiting, asked []*scan
		for n, s := range scans {
			switch {
			case s.ended:
			case s.begun || err == nil:
				s.ended = true
				r.abandon(s, classInternal, "the provider process stopped while it read this source; import again, and report the source's provider if it stays so")
			case n < sent:
				asked = append(asked, s)
			default:
				waiting = append(waiting, s)
			}
		}
		poisoned := len(scans) > len(asked)+len(waiting)
		if scans = append(waiting, asked...); err != nil && (poisoned || len(scans) > 0) {
			p.crashes++
		}
	}
}

// restart starts a provider again that stopped by itself.
func (r *run) restart(p *provider) bool {
	if p.restarts++; p.restarts > maxRestarts {
		return false
	}
	p.plugin.Close()
	plugin, err := r.req.Plugins.Start(r.ctx, p.name)
	if err != nil {
		r.log("provider %s: starting it again: %v", p.id, err)
		return false
	}
	p.plugin, p.dead = plugin, false
	return true
}

// call asks for sources in one stream and returns how many it asked for. An error is the end of the process.
func (r *run) call(p *provider, scans []*scan) (int, error) {
	var sent atomic.Int64
	next := func() (*historyv1.ScanSource, bool) {
		n := int(sent.Load())
		if n == len(scans) || r.ctx.Err() != nil {
			return nil, false
		}
		scans[n].ordinal = uint32(n)
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
		source := sourceOf(m)
		if m.GetMessage() == nil || int64(source) >= sent.Load() {
			return errors.New("a message of no source")
		}
		if s := scans[source]; !s.ended {
			r.message(s, m)
		}
		return context.Cause(r.ctx)
	})
	return int(sent.Load()), err
}

// request builds the message that asks for a source.
func (r *run) request(s *scan) (*historyv1.ScanSource, error) {
	m := &historyv1.ScanSource{Ordinal: s.ordinal, RoutePath: s.route.Path, Source: s.wire, Mode: s.asked}
	s.linker = new(record.Linker)
	s.length = -1
	if info, err := os.Lstat(s.path()); err == nil && info.Mode().IsRegular() {
		s.length = info.Size()
	}
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

// sourceOf returns the ordinal that a message is about: one of the four is there, the others say 0.
func sourceOf(m *historyv1.ScanMessage) uint32 {
	return cmp.Or(m.GetBegin().GetSource(), m.GetBatch().GetSource(), m.GetEnd().GetSource(), m.GetFailure().GetSource())
}

// message handles one message of a source that has not ended. Their order was checked where they arrived.
func (r *run) message(s *scan, m *historyv1.ScanMessage) {
	var err error
	switch m := m.GetMessage().(type) {
	case *historyv1.ScanMessage_Begin:
		if err = s.begin(m.Begin.GetMode()); err == nil {
			if s.mode != s.asked { // all of it, not only what was added
				r.meter.reread(s, s.wire.GetSize())
				s.todo = s.wire.GetSize()
			}
			r.meter.reading(s.path())
		}
	case *historyv1.ScanMessage_Batch:
		r.batch(s, m.Batch)
	case *historyv1.ScanMessage_End:
		s.ended = true
		if err = s.checkEnd(m.End); err == nil {
			r.finishing.Go(func() { r.finish(s, m.End) })
		}
	case *historyv1.ScanMessage_Failure:
		s.ended = true
		r.abandon(s, m.Failure.GetClass(), oneLine(m.Failure.GetMessage()))
	}
	if err != nil {
		s.ended = true
		r.blame(s, err)
	}
}

func (s *scan) begin(mode historyv1.Mode) (err error) {
	s.begun, s.mode = true, mode
	if mode != s.asked {
		s.linker = new(record.Linker)
	}
	s.converter, err = record.NewConverter(record.SourceSpec{
		Provider: s.provider.id, Format: s.wire.GetFormat(), Variant: s.format.variant, IdentityVersion: s.format.version,
		ParserRevision: s.format.revision, Anchor: s.wire.GetAnchor(), Lineage: s.route.lineage,
	})
	return err
}

// batch hands one batch to the workers of the store. It waits only while too much is queued there.
func (r *run) batch(s *scan, b *historyv1.Batch) {
	s.mu.Lock()
	for _, w := range b.GetRejections() {
		if len(s.rejections) == core.MaxRejections {
			break
		}
		s.rejections = append(s.rejections, rejectionOf(w, s.wire.GetLocator()))
	}
	s.mu.Unlock()
	if n := min(b.GetReadBytes(), s.todo); n > s.read {
		r.meter.count(func(p *Progress) { p.Bytes += n - s.read })
		s.read = n
	}
	if len(b.GetSessions()) == 0 && len(b.GetEvents()) == 0 {
		return
	}
	w, err := r.open(s)
	if err == nil {
		err = w.AddBatch(batchBytes(b), func(emit func(*record.Event) error) error { return r.convert(s, b, emit) })
		if s.brokenRule() != nil || err != nil && ofSource(err) {
			return // what the source itself did wrong is told when it ends
		}
	}
	if err != nil {
		s.ended = ofSource(err)
		r.trouble(s, err)
	}
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
		if err := r.declare(s, w); err != nil {
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
		if why, out := s.left[w.GetSession()]; out {
			s.records.event(w.GetSession(), w.GetSequence(), why)
			continue
		}
		err := s.converter.FromWire(w, e)
		if err == nil {
			s.linker.Observe(e)
			err = record.Admit(e, session)
		}
		if err != nil {
			s.records.event(w.GetSession(), w.GetSequence(), refused)
			s.refuse(err)
			continue
		}
		s.records.event(w.GetSession(), w.GetSequence(), kept)
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
	r.meter.count(func(p *Progress) {
		p.Messages += spoken
		p.ToolCalls += calls
		r.meter.events += uint64(len(b.GetEvents()))
	})
	return nil
}

// declare adds a session to the source, unless it is forgotten or gives way to another one.
func (r *run) declare(s *scan, w *historyv1.Session) error {
	first := s.converter.Session(w.GetIndex()) == nil
	session, err := s.converter.AddSession(w)
	if err != nil {
		return s.breaks(err)
	}
	if n, forgotten := r.forgotten.Has(session.Provider, session.Kind, session.Key); forgotten {
		s.leave(w.GetIndex(), kept) // its records were fit to be kept
		s.forgotten = append(s.forgotten, n)
		if first {
			s.skipped++
		}
		return nil
	}
	if better := w.GetYieldsTo(); better != nil {
		source, _, err := s.converter.Resolve(better)
		if err != nil {
			return s.breaks(err)
		}
		// It counts where it is listed or was once stored, even if it is gone or forgotten.
		_, known := r.forgotten.Has(session.Provider, better.GetKind(), better.GetKey())
		if known || r.certs[source] != nil || r.fresh[source] != nil {
			s.leave(w.GetIndex(), yielded)
			return nil
		}
		s.yields = append(s.yields, retention.Number(source))
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

func (s *scan) leave(session uint32, why fate) {
	if s.left == nil {
		s.left = map[uint32]fate{}
	}
	s.left[session] = why
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

func (s *scan) brokenRule() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// refuse notes an event that cannot be stored. It costs that record only.
func (s *scan) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rejections) == core.MaxRejections {
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

func rejectionOf(w *historyv1.Rejection, locator string) core.Rejection {
	rejection := core.Rejection{
		Locator: w.GetLocator(), Line: w.GetLine(), ByteOffset: w.ByteOffset,
		PayloadType: oneLine(w.GetPayloadType()), Detail: oneLine(w.GetDetail()),
	}
	if w.GetClass() == "damaged" {
		rejection.Class = "damaged"
	}
	if rejection.Locator == "" || !sdkplugin.ValidLocator(rejection.Locator) {
		rejection.Locator = locator
	}
	return rejection
}
