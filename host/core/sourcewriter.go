package core

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// SourceWriter takes the events of one source. Its methods are called one after the other, from any goroutine.
type SourceWriter struct {
	c        *Candidate
	spec     SourceSpec
	append   bool
	base     *Certificate // what is stored, nil for a new source
	ordinal  uint32
	provider uint16
	ended    atomic.Bool

	// Kept by workers.mu.
	last chan struct{} // closed when the last batch has run
	err  error

	mu        sync.Mutex
	sessions  map[record.Digest]*sessionState
	byOrdinal map[uint32]*sessionState

	// Used by one batch at a time, and by the owner when no batch is left.
	positions  map[[16]byte]lexical.Doc // by UUID, of the events stored by this run: about 50 bytes an event
	retracted  []lexical.Doc            // stored by this run, then stored again
	superseded []storedDoc              // stored before this run, then stored again
	events     uint64
	duplicates uint64
	excluded   spool
	lookup     *eventFinder // in the base
	same       bool         // Finish found just what is stored
}

// sessionState is a session declared by a run.
type sessionState struct {
	id      record.Digest
	session *record.Session // kept by SourceWriter.mu
	stored  *record.Session // as in the base, nil when new
	stats   SessionStats    // of this run
}

// Replace starts a source whose content as it is now takes the place of everything that is stored of it.
func (c *Candidate) Replace(spec SourceSpec) (*SourceWriter, error) { return c.begin(spec, false) }

// Append starts a source whose new events are added to those stored. The source must be stored with the same descriptor.
func (c *Candidate) Append(spec SourceSpec) (*SourceWriter, error) { return c.begin(spec, true) }

func (c *Candidate) begin(spec SourceSpec, appending bool) (*SourceWriter, error) {
	if spec.Source != record.SourceID(spec.Provider, spec.Anchor) {
		return nil, fault.New(fault.Internal, "source %s does not belong to its anchor", spec.Source)
	}
	if spec.Descriptor != record.DescriptorDigest(spec.Provider, spec.Format, spec.Variant, spec.IdentityVersion, spec.Source) {
		return nil, fault.New(fault.Internal, "source %s does not belong to its descriptor", spec.Source)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.free(spec.Source, writing); err != nil {
		return nil, err
	}
	cert, err := c.certificate(spec.Source)
	if err != nil {
		return nil, err
	}
	if appending && (cert == nil || cert.Descriptor != spec.Descriptor) {
		return nil, fault.New(fault.Internal, "nothing is stored of source %s that could be appended to", spec.Source)
	}
	w := &SourceWriter{
		c: c, spec: spec, append: appending, base: cert,
		sessions:  map[record.Digest]*sessionState{},
		byOrdinal: map[uint32]*sessionState{},
		positions: map[[16]byte]lexical.Doc{},
		provider:  c.manifest.provider(spec.Provider),
		excluded:  spool{c: c},
	}
	if cert != nil {
		w.ordinal = cert.Ordinal
	} else if w.ordinal, err = nextOrdinal(&c.manifest.Next.Source); err != nil {
		return nil, err
	}
	c.busy[spec.Source] = writing
	c.open[w] = true
	return w, nil
}

func nextOrdinal(next *uint32) (uint32, error) {
	if *next == math.MaxUint32 {
		return 0, errors.New("no ordinals left")
	}
	*next++
	return *next - 1, nil
}

// Session declares a session of the source, or gives a declared one its final form: of several calls the last one counts. The ordinal,
// also set in s, goes into Event.Session. The session is not copied and must not be changed later except through another call. An
// error is final for the source: a session of another source, or a lineage claim that contradicts an earlier one.
func (w *SourceWriter) Session(s *record.Session) (ordinal uint32, err error) {
	if s.Source != w.spec.Source || s.ID != record.SessionID(s.Source, s.Kind, s.Key) {
		return 0, fault.New(fault.Internal, "session %s does not belong to source %s", s.ID, w.spec.Source)
	}
	w.mu.Lock()
	known := w.sessions[s.ID]
	w.mu.Unlock()
	if known == nil {
		return w.declare(s)
	}
	if err := agree(known.session, s); err != nil {
		return 0, err
	}
	s.Ordinal = known.session.Ordinal
	w.mu.Lock()
	known.session = s
	w.mu.Unlock()
	return s.Ordinal, nil
}

func (w *SourceWriter) declare(s *record.Session) (_ uint32, err error) {
	state := &sessionState{id: s.ID, session: s}
	if w.c.base != nil {
		if state.stored, err = w.c.base.SessionByID(s.ID); err != nil {
			return 0, err
		}
	}
	if state.stored != nil {
		s.Ordinal = state.stored.Ordinal
		if w.append {
			err = agree(state.stored, s)
		}
	} else {
		w.c.mu.Lock()
		s.Ordinal, err = nextOrdinal(&w.c.manifest.Next.Session)
		w.c.mu.Unlock()
	}
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[s.ID] = state
	w.byOrdinal[s.Ordinal] = state
	return s.Ordinal, nil
}

// agree checks that a later description of a session does not contradict the lineage that an earlier one claimed.
func agree(before, now *record.Session) error {
	differs := func(a, b *record.Digest) bool { return a != nil && b != nil && *a != *b }
	if differs(before.Parent, now.Parent) || differs(before.Root, now.Root) {
		return fault.New(fault.InvalidRequest, "session %s claims two different parents or roots", now.ID)
	}
	return nil
}

// AddBatch queues fn for a worker and returns; it waits while too much is queued. bytes is the memory that fn keeps alive. fn converts
// and emits the events of the batch; emit stores a copy, so the event can be reused. An event must have passed record.Admit, and its
// session must have been declared before. Events that are stored already are refused silently and counted (Duplicates). An error of fn
// or emit fails the source: Wait and Finish return it.
func (w *SourceWriter) AddBatch(bytes int, fn func(emit func(*record.Event) error) error) error {
	if w.ended.Load() {
		return errEnded
	}
	return w.c.workers.add(w, bytes, func(k *sink) error {
		return fn(func(e *record.Event) error { return w.emit(k, e) })
	})
}

func (w *SourceWriter) emit(k *sink, e *record.Event) error {
	w.mu.Lock()
	state := w.byOrdinal[e.Session]
	w.mu.Unlock()
	if state == nil {
		return fault.New(fault.Internal, "event %s belongs to no declared session", e.ID)
	}
	if e.EncodedBytes == 0 {
		return fault.New(fault.Internal, "event %s was not admitted", e.ID)
	}
	if e.Copy != nil && (e.Copy.Session == state.id || e.Copy.Event == e.ID) {
		return fault.New(fault.InvalidRequest, "event %s claims to be a copy of itself", e.ID)
	}
	stored, err := w.stored(e.ID)
	switch {
	case err != nil:
		return err
	case stored:
		w.duplicates++
		return nil
	}
	state.stats = state.stats.plus(SessionStats{1, e.Timed, e.OccurredAt, e.OccurredAt})
	w.events++
	return w.store(k, e)
}

// store writes an event and remembers where it is.
func (w *SourceWriter) store(k *sink, e *record.Event) error {
	doc, encoded, err := k.add(e, w.ordinal, w.provider)
	if err != nil {
		return w.c.fail(err)
	}
	w.positions[e.ID.UUID()] = doc
	if e.Excluded {
		return w.c.fail(w.excluded.put(e.ID, encoded))
	}
	return nil
}

// stored tells whether the event is there already: from this run, or, in an append, from before.
func (w *SourceWriter) stored(id record.Digest) (bool, error) {
	if _, ok := w.positions[id.UUID()]; ok || !w.append {
		return ok, nil
	}
	_, found, err := w.find(id)
	return found, err
}

// find looks an event up in the base, with one iterator for the whole source.
func (w *SourceWriter) find(id record.Digest) (lexical.Doc, bool, error) {
	if w.lookup == nil {
		it, err := w.c.base.iterator([]byte{keyEvent}, []byte{keyEvent + 1})
		if err != nil {
			return lexical.Doc{}, false, err
		}
		w.lookup = &eventFinder{g: w.c.base, it: it}
	}
	return w.lookup.find(id)
}

// Wait returns when all batches so far have run, with the error that failed the source.
func (w *SourceWriter) Wait() error { return w.c.workers.wait(w, nil) }

// Events returns how many events this run stored; after Wait.
func (w *SourceWriter) Events() uint64 { return w.events }

// Duplicates returns how many events of this run were stored already; after Wait.
func (w *SourceWriter) Duplicates() uint64 { return w.duplicates }

// Same tells, after Finish, that the source holds just what is stored of it: nothing changed.
func (w *SourceWriter) Same() bool { return w.same }

// Readmit makes events searchable that were stored as excluded from discovery, because later records of the source disproved it. After
// Wait and before Finish.
func (w *SourceWriter) Readmit(ids []record.Digest) error {
	if w.ended.Load() {
		return errEnded
	}
	if err := w.Wait(); err != nil || len(ids) == 0 {
		return err
	}
	err := w.c.workers.add(w, 0, func(k *sink) error {
		for _, id := range ids {
			if err := w.readmit(k, id); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, w.Wait())
}

func (w *SourceWriter) readmit(k *sink, id record.Digest) error {
	doc, ours := w.positions[id.UUID()]
	var e record.Event
	if ours {
		place := w.excluded.places[id]
		if place == nil { // not excluded: nothing to do
			return nil
		}
		encoded, err := io.ReadAll(place)
		if err != nil {
			return w.c.fail(err)
		}
		if err := record.Decode(encoded, &e); err != nil {
			return fmt.Errorf("event %s cannot be read back: %w", id, err)
		}
	} else if err := w.recall(id, &doc, &e); err != nil || !e.Excluded {
		return err
	}
	session, err := w.sessionOf(e.Session)
	if err != nil {
		return err
	}
	e.Excluded = false
	if err := record.Admit(&e, session); err != nil {
		return err
	}
	if ours {
		w.retracted = append(w.retracted, doc)
		delete(w.excluded.places, id)
		return w.store(k, &e)
	}
	w.superseded = append(w.superseded, storedDoc{e.Session, e.Sequence, e.Suborder, doc})
	return w.store(k, &e)
}

// storedDoc is what deleting a document of the base takes.
type storedDoc struct {
	session  uint32
	sequence uint64
	suborder uint32
	doc      lexical.Doc
}

// recall reads an event of the base.
func (w *SourceWriter) recall(id record.Digest, doc *lexical.Doc, e *record.Event) (err error) {
	found := false
	if w.append {
		*doc, found, err = w.find(id)
	}
	switch {
	case err != nil:
		return err
	case !found:
		return fault.New(fault.Internal, "event %s is not stored", id)
	}
	return w.c.base.Event(*doc, e)
}

// sessionOf returns a session of the source, declared by this run or not.
func (w *SourceWriter) sessionOf(ordinal uint32) (*record.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state := w.byOrdinal[ordinal]; state != nil {
		return state.session, nil
	}
	return w.c.base.Session(ordinal)
}

// spool keeps the records of the excluded events of one open source in a file, because they may have to be stored again as searchable
// ones and a table can be read only when it is complete. There are few of them, but they may be large.
type spool struct {
	c      *Candidate
	places map[record.Digest]*io.SectionReader
	file   *os.File
	size   int64
}

func (s *spool) put(id record.Digest, encoded []byte) (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(filepath.Join(s.c.path, stagingDir), "spool-"); err != nil {
			return err
		}
		s.places = map[record.Digest]*io.SectionReader{}
	}
	n, err := countingWriter{s.c.store, s.file}.Write(encoded)
	s.places[id] = io.NewSectionReader(s.file, s.size, int64(n))
	s.size += int64(n)
	return err
}

func (s *spool) close() error {
	var err error
	if s.file != nil {
		err = errors.Join(s.file.Close(), os.Remove(s.file.Name()))
	}
	*s = spool{c: s.c}
	return err
}
