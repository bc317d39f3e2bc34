package core

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/agenthistory/ctx/host/fault"
)

// maxFrontier bounds what is stored as append frontier, in bytes: the 64 KiB that a provider may send, and what the host keeps with it.
const maxFrontier = 1 << 20

// Finish waits for the batches and certifies the source: from now on it is part of the candidate. cert says what was read; its spec may
// be left empty, Ordinal, HasFrontier and Counts.Indexed are filled in. frontier, at most 1 MiB, may be nil. An append whose counts or
// bytes go back is refused. A replacement that is equal to what is stored changes nothing: the stored events stay as they are.
//
// After an error the source must be aborted.
func (w *SourceWriter) Finish(cert Certificate, frontier []byte) error {
	if w.ended.Load() {
		return errEnded
	}
	if err := w.Wait(); err != nil {
		return err
	}
	if err := w.complete(&cert, frontier); err != nil {
		return err
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if err := w.c.usable(); err != nil {
		return err
	}
	same, err := w.unchanged(&cert, frontier)
	if err != nil {
		return err
	}
	w.ended.Store(true)
	if w.same = same; same {
		w.takeBack()
		w.c.sight(w.base, cert.Sighting)
		return w.close()
	}
	if err := w.certify(&cert, frontier); err != nil {
		if w.c.err == nil {
			w.c.err = writeFailure(err) // half of the source is in: nothing of this candidate can be used
		}
		return errors.Join(err, w.close())
	}
	return w.close()
}

// complete fills in what the store knows and checks the rest.
func (w *SourceWriter) complete(cert *Certificate, frontier []byte) error {
	if !cert.Source.IsZero() && cert.Source != w.spec.Source {
		return fault.New(fault.Internal, "certificate of another source")
	}
	cert.SourceSpec = w.spec
	cert.Ordinal = w.ordinal
	cert.HasFrontier = len(frontier) > 0
	cert.Counts.Indexed = w.events
	cert.Rejections = cert.Rejections[:min(len(cert.Rejections), MaxRejections)]
	if len(frontier) > maxFrontier {
		return fault.New(fault.Internal, "append frontier of %d bytes", len(frontier))
	}
	if err := cert.valid(); err != nil {
		return fault.Wrap(err, fault.Internal, "source %s cannot be certified: %v", cert.Source, err)
	}
	if !w.append {
		return nil
	}
	cert.Counts.Indexed += w.base.Counts.Indexed
	b, n := w.base.Counts, cert.Counts
	// What the host itself refused moved from retained to rejected, so those two are compared together.
	if n.Complete < b.Complete || n.Retained+n.Rejected < b.Retained+b.Rejected || n.Ignored < b.Ignored ||
		cert.CertifiedBytes < w.base.CertifiedBytes {
		return fault.New(fault.Internal, "an append to source %s went back", cert.Source)
	}
	if cert.ParserRevision != w.base.ParserRevision {
		return fault.New(fault.Internal, "an append to source %s with another parser", cert.Source)
	}
	return nil
}

// unchanged tells whether the run found exactly what is stored.
func (w *SourceWriter) unchanged(cert *Certificate, frontier []byte) (bool, error) {
	if w.base == nil || w.base.facts() != cert.facts() || len(w.superseded) > 0 || cert.HasFrontier != w.base.HasFrontier ||
		!slices.Equal(cert.Forgotten, w.base.Forgotten) || !slices.Equal(cert.Yields, w.base.Yields) {
		return false, nil
	}
	for _, s := range w.sessions {
		same, err := w.sameSession(s)
		if err != nil || !same {
			return false, err
		}
	}
	if !w.append {
		stored, err := w.c.base.SourceSessions(w.ordinal)
		if err != nil || len(stored) != len(w.sessions) {
			return false, err
		}
	}
	old, err := w.c.base.Frontier(cert.Source)
	return err == nil && bytes.Equal(old, frontier), err
}

// sameSession compares a session of the run with the stored one.
func (w *SourceWriter) sameSession(s *sessionState) (bool, error) {
	if s.stored == nil {
		return false, nil
	}
	stats, err := w.statsOf(s)
	if err != nil {
		return false, err
	}
	ref, ok, err := w.c.base.sessionRef(s.id)
	return ok && ref.facts == sessionFacts(s.session, stats), err
}

// statsOf returns the counts of a session after the run.
func (w *SourceWriter) statsOf(s *sessionState) (SessionStats, error) {
	if !w.append || s.stored == nil {
		return s.stats, nil
	}
	stored, err := w.c.base.SessionStats(s.stored.Ordinal)
	return stored.plus(s.stats), err
}

// certify makes the run part of the candidate. Called with the candidate's lock held.
func (w *SourceWriter) certify(cert *Certificate, frontier []byte) error {
	c := w.c
	if w.base != nil && !w.append {
		if err := c.dropContent(w.ordinal, w.sessions); err != nil {
			return err
		}
	}
	for _, d := range w.superseded {
		if err := c.deleteDoc(d.session, d.sequence, d.suborder, d.doc); err != nil {
			return err
		}
	}
	for _, d := range w.retracted {
		mark(c.dead, d)
	}
	for _, s := range w.sessions {
		stats, err := w.statsOf(s)
		if err != nil {
			return err
		}
		if s.stored != nil {
			c.dropLookups(s.stored) // those that stay are set again
		}
		c.setSession(w.ordinal, s.session, stats, s.stored != nil)
	}
	if w.base == nil {
		c.setRow(ordinalKey(keySourceOrdinal, w.ordinal), bytes.Clone(cert.Source[:]))
	}
	switch {
	case cert.HasFrontier:
		c.setRow(digestKey(keyFrontier, cert.Source), bytes.Clone(frontier))
	case w.base != nil && w.base.HasFrontier:
		c.setRow(digestKey(keyFrontier, cert.Source), nil)
	}
	c.setCertificate(w.base, cert)
	return c.spillRows()
}

// Abort drops what the run stored; the source keeps its former state, and may be started again.
func (w *SourceWriter) Abort() {
	if w.ended.Swap(true) {
		return
	}
	_ = w.c.workers.wait(w, errEnded)
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.takeBack()
	delete(w.c.busy, w.spec.Source)
	if err := w.close(); err != nil {
		w.c.opt.Log("aborting source %s: %v", w.spec.Source, err)
	}
}

// takeBack marks the documents of the run as dead. Called with the candidate's lock held.
func (w *SourceWriter) takeBack() {
	for _, d := range w.positions {
		mark(w.c.dead, d)
	}
	for _, d := range w.retracted {
		mark(w.c.dead, d)
	}
}

// close ends the writer. Called with the candidate's lock held.
func (w *SourceWriter) close() error {
	delete(w.c.open, w)
	var err error
	if w.lookup != nil {
		err = w.lookup.it.Close()
		w.lookup = nil
	}
	err = errors.Join(err, w.excluded.close())
	w.positions, w.retracted, w.superseded = nil, nil, nil
	if err != nil {
		return fmt.Errorf("closing source %s: %w", w.spec.Source, err)
	}
	return nil
}
