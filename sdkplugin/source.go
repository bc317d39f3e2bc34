package sdkplugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// SourceWriter takes what one scan finds. The order is: Begin, then Session, Event, Retain, Ignore and Reject as the source is
// read, then End. Errors are final: return them from Scan. A writer belongs to the goroutine that scans.
//
// Events are sent in batches: when 512 KiB have come together, when the oldest is 200 ms old, and at the end. A call may block
// while the host is busy.
type SourceWriter struct {
	// Diagnostics of this source; they travel with End.
	Diagnostics Diagnostics

	ctx    context.Context
	out    *scanStream
	source uint32
	base   Counts // certified before, in mode Append

	mu    sync.Mutex // also taken by the timer
	state writerState
	err   error
	batch *[]byte
	since time.Time // of the first item of the batch; zero = empty
	timer *time.Timer
	read  uint64 // cumulative

	counts     Counts // of this scan
	events     uint64
	rejections uint64
	sessions   map[string]uint32 // by kind and key
	last       []uint64          // by session: sequence of the last event
}

type writerState uint8

const (
	notBegun writerState = iota
	writing
	ended
)

var errEnded = errors.New("the source has ended")

// Begin starts the source. Mode is the one really used: when Append was asked and the certified prefix is no longer there, begin
// with ModeFull and read from the start; the host then replaces the source. Without a call, the first item begins with ModeFull.
func (w *SourceWriter) Begin(mode Mode) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.state != notBegun {
		return w.invalid("begin", errors.New("the source has begun"))
	}
	return w.begin(mode)
}

func (w *SourceWriter) begin(mode Mode) error {
	if mode != ModeFull && mode != ModeAppend {
		return w.invalid("begin", fmt.Errorf("mode %d", mode))
	}
	if mode == ModeFull {
		w.base = Counts{}
	}
	w.state = writing
	return w.fail(w.out.send(&historyv1.ScanMessage{Message: &historyv1.ScanMessage_Begin{
		Begin: &historyv1.SourceBegin{Source: w.source, Mode: mode}}}))
}

// ready begins if nobody did, and reports why nothing can be taken.
func (w *SourceWriter) ready() error {
	if w.err != nil {
		return w.err
	}
	if err := context.Cause(w.ctx); err != nil {
		return w.fail(err)
	}
	switch w.state {
	case notBegun:
		return w.begin(ModeFull)
	case ended:
		return w.invalid("call", errEnded)
	}
	return nil
}

// Session declares a session and returns the number that events refer to it by. It comes before the first event of the session.
// Declaring the same kind and key again, e.g. when the parent has become known, gives the same number and replaces the first
// declaration.
func (w *SourceWriter) Session(s Session) (uint32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(); err != nil {
		return 0, err
	}
	if err := s.Validate(); err != nil {
		return 0, w.invalid(fmt.Sprintf("session %d", len(w.sessions)), err)
	}
	id := s.Ref.Kind + "\x00" + string(s.Ref.Key)
	index, known := w.sessions[id]
	if !known {
		index = uint32(len(w.sessions))
		if w.sessions == nil {
			w.sessions = map[string]uint32{}
		}
		w.sessions[id] = index
		w.last = append(w.last, 0)
	}
	return index, w.appendMessage(2, s.wire(index))
}

// Event takes one event. Everything is copied before it returns.
func (w *SourceWriter) Event(e *Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(); err != nil {
		return err
	}
	if err := w.validEvent(e); err != nil {
		return w.invalid(fmt.Sprintf("event %d", w.events), err)
	}
	w.events++
	w.last[e.Session] = e.Sequence
	w.open()
	*w.batch = appendEvent(*w.batch, e)
	return w.sendWhenFull()
}

func (w *SourceWriter) validEvent(e *Event) error {
	if int(e.Session) >= len(w.last) {
		return fmt.Errorf("session %d was not declared", e.Session)
	}
	if e.Sequence < w.last[e.Session] {
		return fmt.Errorf("sequence %d after %d", e.Sequence, w.last[e.Session])
	}
	return e.Validate()
}

// Retain counts n native records that gave events.
func (w *SourceWriter) Retain(n uint64) { w.count(n, &w.counts.Retained) }

// Ignore counts n native records that hold nothing to keep.
func (w *SourceWriter) Ignore(n uint64) { w.count(n, &w.counts.Ignored) }

func (w *SourceWriter) count(n uint64, counter *uint64) {
	w.mu.Lock()
	*counter += n
	w.counts.Complete += n
	w.mu.Unlock()
}

// Reject counts one native record that could not be understood. The first MaxRejections of a scan are told to the user.
func (w *SourceWriter) Reject(r Rejection) error {
	w.count(1, &w.counts.Rejected)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(); err != nil {
		return err
	}
	w.rejections++
	if w.rejections > MaxRejections {
		return nil
	}
	wire := &historyv1.Rejection{Locator: r.Locator, Line: r.Line, PayloadType: clip(r.PayloadType), Detail: clip(r.Detail)}
	if !ValidLocator(r.Locator) {
		wire.Locator = ""
	}
	if r.HasOffset {
		wire.ByteOffset = &r.ByteOffset
	}
	if r.Damaged {
		wire.Class = "damaged"
	}
	return w.appendMessage(4, wire)
}

// Progress tells how many bytes of the source were read so far in this scan.
func (w *SourceWriter) Progress(readBytes uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read = readBytes
	return w.ready()
}

func (w *SourceWriter) totals() Counts {
	return Counts{
		Complete: w.base.Complete + w.counts.Complete, Retained: w.base.Retained + w.counts.Retained,
		Rejected: w.base.Rejected + w.counts.Rejected, Ignored: w.base.Ignored + w.counts.Ignored,
	}
}

// Ending certifies what was read.
type Ending struct {
	Observation    []byte   // of the source now; unlike the inventory's when it changed meanwhile
	CertifiedBytes uint64   // read and understood, from the start of the source
	ContentDigest  [32]byte // SHA-256 of exactly these bytes
	// Frontier is what the next scan in mode Append needs, at most MaxFrontier; empty = the next scan must be a full one.
	Frontier []byte
	Metadata []SessionMetadata
}

// End ends the source. Nothing may follow.
func (w *SourceWriter) End(e Ending) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready(); err != nil {
		return err
	}
	if n := len(e.Observation); n == 0 || n > MaxObservation {
		return w.invalid("end", fmt.Errorf("observation of %d bytes, want 1 to %d", n, MaxObservation))
	}
	if n := len(e.Frontier); n > MaxFrontier {
		return w.invalid("end", fmt.Errorf("frontier of %d bytes, at most %d", n, MaxFrontier))
	}
	metadata := make([]*historyv1.SessionMetadata, len(e.Metadata))
	for i := range e.Metadata {
		if err := w.validMetadata(&e.Metadata[i]); err != nil {
			return w.invalid(fmt.Sprintf("metadata %d", i), err)
		}
		metadata[i] = e.Metadata[i].wire()
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.state = ended
	totals := w.totals()
	return w.fail(w.out.send(&historyv1.ScanMessage{Message: &historyv1.ScanMessage_End{End: &historyv1.SourceEnd{
		Source: w.source, Observation: e.Observation, CertifiedBytes: e.CertifiedBytes, ContentDigest: e.ContentDigest[:],
		Frontier: e.Frontier, Metadata: metadata, RejectionsTotal: w.rejections, Diagnostics: w.Diagnostics.wire(),
		Counts: &historyv1.Counts{Complete: totals.Complete, Retained: totals.Retained, Rejected: totals.Rejected, Ignored: totals.Ignored},
	}}}))
}

func (w *SourceWriter) validMetadata(m *SessionMetadata) error {
	if int(m.Session) >= len(w.last) {
		return fmt.Errorf("session %d was not declared", m.Session)
	}
	for _, model := range m.Models {
		if err := validStrings("model", model); err != nil {
			return err
		}
	}
	return validStrings("title", m.Title, "model", m.Model, "agent name", m.AgentName, "cwd", m.CWD,
		"workspace label", m.WorkspaceLabel, "branch", m.Branch, "branch", m.LastBranch, "version", m.Version,
		"version", m.LastVersion, "entrypoint", m.Entrypoint, "entrypoint", m.LastEntrypoint)
}

// open makes sure that there is a batch to append to, and that it is sent in time when the provider gets busy with something
// else.
func (w *SourceWriter) open() {
	if w.batch == nil {
		w.batch = batches.get()
		*w.batch = appendUint(*w.batch, 1, uint64(w.source))
	}
	if !w.since.IsZero() {
		return
	}
	w.since = time.Now()
	if w.timer == nil {
		w.timer = time.AfterFunc(flushAfter, w.flushOld)
	} else {
		w.timer.Reset(flushAfter)
	}
}

func (w *SourceWriter) appendMessage(field protowire.Number, m proto.Message) error {
	w.open()
	dst := protowire.AppendVarint(protowire.AppendTag(*w.batch, field, protowire.BytesType), uint64(proto.Size(m)))
	dst, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(dst, m)
	if err != nil {
		return w.fail(err)
	}
	*w.batch = dst
	return w.sendWhenFull()
}

func (w *SourceWriter) sendWhenFull() error {
	if len(*w.batch) < flushBytes {
		return nil
	}
	return w.flush()
}

// flush sends the batch. The buffer goes to the transport, which gives it back to the pool when the bytes are on the wire.
func (w *SourceWriter) flush() error {
	if w.err != nil || w.since.IsZero() {
		return w.err
	}
	batch := w.batch
	*batch = appendUint(*batch, 5, w.read)
	w.batch, w.since = nil, time.Time{}
	w.timer.Stop()
	return w.fail(w.out.send(&encodedBatch{batch}))
}

// flushOld is called by the timer.
func (w *SourceWriter) flushOld() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.since) >= flushAfter {
		_ = w.flush() // kept in w.err
	}
}

// abandon stops all further use; late calls of a provider that does not look at its context get the reason. It reports how the
// writer stood.
func (w *SourceWriter) abandon(reason error) (over bool, broken error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	over, broken = w.state == ended, w.err
	w.fail(reason)
	if w.batch != nil {
		batches.Put(w.batch)
		w.batch, w.since = nil, time.Time{}
	}
	return over, broken
}

func (w *SourceWriter) fail(err error) error {
	if w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *SourceWriter) invalid(what string, err error) error {
	return w.fail(&InvalidError{What: what, Err: err})
}

func (r *SessionRef) wire() *historyv1.SessionRef {
	if r == nil {
		return nil
	}
	return &historyv1.SessionRef{Anchor: r.Anchor, Kind: r.Kind, Key: r.Key}
}

func (s *Session) wire(index uint32) *historyv1.Session {
	return &historyv1.Session{
		Index: index, Ref: s.Ref.wire(), ProviderSessionId: s.ProviderSessionID, Parent: s.Parent.wire(), Root: s.Root.wire(),
		Relationship: s.Relationship, Scope: s.Scope, YieldsTo: s.YieldsTo.wire(),
	}
}

func (t Instant) wire() *int64 {
	if !t.Known {
		return nil
	}
	return &t.Millis
}

func (m *SessionMetadata) wire() *historyv1.SessionMetadata {
	return &historyv1.SessionMetadata{
		Index: m.Session, Title: m.Title, Model: m.Model, AgentName: m.AgentName, Cwd: m.CWD, WorkspaceLabel: m.WorkspaceLabel,
		Branch: m.Branch, LastBranch: m.LastBranch, Version: m.Version, LastVersion: m.LastVersion, Entrypoint: m.Entrypoint,
		LastEntrypoint: m.LastEntrypoint, Models: m.Models, StartedAtMs: m.StartedAt.wire(), EndedAtMs: m.EndedAt.wire(),
		ApproximateTimes: m.ApproximateTimes,
	}
}
