package core

import (
	"context"
	"errors"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// carryBatch is how many records are carried over in one batch, in bytes.
const carryBatch = 1 << 20

// Carry copies a source with its sessions, records, ids, state and frontier from another generation, usually Old. It goes the way that
// every source goes, so the records are encoded, tokenised and indexed under the present contract. What the old generation excluded from
// discovery stays excluded.
func (c *Candidate) Carry(ctx context.Context, from *Generation, source record.Digest) error {
	cert, err := from.Certificate(source)
	if err != nil {
		return err
	}
	if cert == nil {
		return unknownSource(source)
	}
	frontier, err := from.Frontier(source)
	if err != nil {
		return err
	}
	w, err := c.Replace(cert.SourceSpec)
	if err != nil {
		return err
	}
	if err := w.carry(ctx, from, cert.Ordinal); err != nil {
		w.Abort()
		return err
	}
	if err := w.Finish(*cert, frontier); err != nil {
		w.Abort()
		return err
	}
	if w.events != cert.Counts.Indexed {
		return c.fail(corruption(nil, "source %s had %d events, %d were carried over", source, cert.Counts.Indexed, w.events))
	}
	return nil
}

func (w *SourceWriter) carry(ctx context.Context, from *Generation, source uint32) error {
	ordinals, err := from.SourceSessions(source)
	if err != nil {
		return err
	}
	for _, old := range ordinals {
		s, err := from.Session(old)
		if err != nil {
			return err
		}
		ordinal, err := w.Session(s)
		if err != nil {
			return err
		}
		if err := w.carrySession(ctx, from, old, ordinal); err != nil {
			return err
		}
	}
	return w.Wait()
}

func (w *SourceWriter) carrySession(ctx context.Context, from *Generation, old, ordinal uint32) error {
	var records [][]byte
	size := 0
	send := func() error {
		if len(records) == 0 {
			return nil
		}
		b := records
		records = nil
		n := size
		size = 0
		return w.AddBatch(n, func(emit func(*record.Event) error) error { return carryRecords(b, ordinal, emit) })
	}
	err := from.scan(ordinalKey(keySessionOrder, old), func(key, _ []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := from.recordBytes(docOf(key))
		if err != nil {
			return err
		}
		records = append(records, b)
		if size += len(b); size < carryBatch {
			return nil
		}
		return send()
	})
	return errors.Join(err, send())
}

func (g *Generation) recordBytes(d lexical.Doc) ([]byte, error) {
	var key [recordKeySize]byte
	b, ok, err := g.get(nil, recordKey(key[:], d))
	if err == nil && !ok {
		err = corruption(nil, "event %d of segment %d is missing", d.Doc, d.Segment)
	}
	return b, err
}

func carryRecords(records [][]byte, session uint32, emit func(*record.Event) error) error {
	var e record.Event
	for _, b := range records {
		if err := record.Decode(b, &e); err != nil {
			return fault.Wrap(err, fault.IndexCorruption, "a stored event cannot be carried over")
		}
		e.Session = session
		if err := emit(&e); err != nil {
			return err
		}
	}
	return nil
}
