package core

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// records reads every record, deleted ones included, in the order of storage.
func (v *verifier) records(c *VerifyCheck) error {
	g := v.g
	next := map[uint32]uint32{}
	var e record.Event
	err := g.scan([]byte{keyRecord}, func(k, value []byte) error {
		if len(k) != recordKeySize {
			c.problem("malformed record key")
			return nil
		}
		d := docOf(k)
		if err := v.tick(c, g.manifest.Stats.Events); err != nil {
			return err
		}
		if d.Doc != next[d.Segment] {
			c.problem("segment %d: record %d follows %d", d.Segment, d.Doc, next[d.Segment])
		}
		next[d.Segment] = d.Doc + 1
		err := record.Decode(value, &e)
		if err == nil {
			err = g.agrees(&e, d)
		}
		if err != nil {
			c.problem("segment %d, record %d: %v", d.Segment, d.Doc, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range g.manifest.Segments {
		if next[s.ID] != s.Docs {
			c.problem("segment %d has %d documents and %d records", s.ID, s.Docs, next[s.ID])
		}
		delete(next, s.ID)
	}
	for id := range next {
		c.problem("records of segment %d, which does not exist", id)
	}
	return nil
}

// agrees compares a record with its columns.
func (g *Generation) agrees(e *record.Event, d lexical.Doc) error {
	i, ok := g.text.Index(d.Segment)
	if !ok || d.Doc >= g.text.Columns(i).Docs() {
		return fmt.Errorf("no such document")
	}
	row := g.text.Columns(i).Row(d.Doc)
	want := rowOf(e, row.Source, row.Provider)
	if !row.Timed {
		row.Time = 0
	}
	if row != want {
		return fmt.Errorf("columns %+v of record %+v", row, want)
	}
	return nil
}

// keys walks every key that leads to an event. Each kind must name every live document exactly once, and no other.
func (v *verifier) keys(c *VerifyCheck) error {
	for _, kind := range []struct {
		letter byte
		size   int
		fits   func(k []byte, row lexical.Row) bool
	}{
		{keyEvent, eventKeySize, func(k []byte, row lexical.Row) bool { return binary.BigEndian.Uint64(k[1:]) == row.ID }},
		{keySessionOrder, sessionOrderKeySize, func(k []byte, row lexical.Row) bool {
			return binary.BigEndian.Uint32(k[1:]) == row.Session && binary.BigEndian.Uint64(k[5:]) == row.Sequence
		}},
		{keyRangeOrder, rangeOrderKeySize, func(k []byte, row lexical.Row) bool {
			_, order := rowKeys(row, docOf(k), false)
			return string(k) == string(order.key(nil, keyRangeOrder))
		}},
		{keyCopy, eventKeySize, func(_ []byte, row lexical.Row) bool { return row.Copy }},
	} {
		if err := v.keyKind(c, kind.letter, kind.size, kind.fits); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) keyKind(c *VerifyCheck, letter byte, size int, fits func(key []byte, row lexical.Row) bool) error {
	g := v.g
	seen := map[uint32]*roaring.Bitmap{}
	err := g.scan([]byte{letter}, func(k, _ []byte) error {
		if err := v.tick(c, 3*g.manifest.Stats.Events); err != nil {
			return err
		}
		if len(k) != size {
			c.problem("malformed key of kind %c", letter)
			return nil
		}
		d := docOf(k)
		row, live := g.text.Row(d)
		if !live {
			c.problem("key of kind %c leads to document %d of segment %d, which is not live", letter, d.Doc, d.Segment)
			return nil
		}
		if !fits(k, row) {
			c.problem("key of kind %c differs from document %d of segment %d", letter, d.Doc, d.Segment)
		}
		if has(seen, d) {
			c.problem("document %d of segment %d has two keys of kind %c", d.Doc, d.Segment, letter)
		}
		mark(seen, d)
		return nil
	})
	if err != nil {
		return err
	}
	for i, s := range g.manifest.Segments {
		want := uint64(s.Live)
		if letter == keyCopy {
			want = v.copies(i)
		}
		var got uint64
		if seen[s.ID] != nil {
			got = seen[s.ID].GetCardinality()
		}
		if got != want {
			c.problem("segment %d has %d live events and %d keys of kind %c", s.ID, want, got, letter)
		}
	}
	return nil
}

func deletedIn(r *lexical.Reader, segment int, doc uint32) bool {
	gone := r.Deleted(segment)
	return gone != nil && gone.Contains(doc)
}

func (v *verifier) copies(segment int) (n uint64) {
	columns := v.g.text.Columns(segment)
	for doc := range columns.Docs() {
		if columns.Copy(doc) && !deletedIn(v.g.text, segment, doc) {
			n++
		}
	}
	return n
}

// sessions checks every session from each side.
func (v *verifier) sessions(c *VerifyCheck) error {
	g := v.g
	counts := v.countSessions()
	var total uint64
	err := g.Sessions(func(s *record.Session, stats SessionStats) error {
		c.Checked++
		total++
		if err := v.ctx.Err(); err != nil {
			return err
		}
		if got := counts[s.Ordinal]; got != stats {
			c.problem("session %s counts %+v events, stored are %+v", s.ID, stats, got)
		}
		delete(counts, s.Ordinal)
		return v.session(c, s, stats)
	})
	if err != nil {
		return err
	}
	if total != g.manifest.Stats.Sessions {
		c.problem("the manifest counts %d sessions, stored are %d", g.manifest.Stats.Sessions, total)
	}
	for ordinal := range counts {
		c.problem("events of session %d, which does not exist", ordinal)
	}
	for letter, key := range map[byte]string{keySessionID: "ids", keySourceSession: "source entries", keyPlace: "places"} {
		var n uint64
		if err := g.scan([]byte{letter}, func(_, _ []byte) error { n++; return nil }); err != nil {
			return err
		}
		if n != total {
			c.problem("%d sessions have %d %s", total, n, key)
		}
	}
	return nil
}

func (v *verifier) session(c *VerifyCheck, s *record.Session, stats SessionStats) error {
	g := v.g
	if s.ID != record.SessionID(s.Source, s.Kind, s.Key) {
		c.problem("session %s does not follow from its key", s.ID)
	}
	ref, ok, err := g.sessionRef(s.ID)
	if err != nil {
		return err
	}
	if !ok || ref.ordinal != s.Ordinal || ref.facts != sessionFacts(s, stats) {
		c.problem("session %s is not found by its id", s.ID)
	}
	cert, err := g.Certificate(s.Source)
	if err != nil {
		return err
	}
	if cert == nil {
		c.problem("session %s has no source", s.ID)
		return nil
	}
	for _, key := range append(lookupKeys(s), sourceSessionKey(cert.Ordinal, s.Ordinal)) {
		if _, ok, err := g.get(nil, key); err != nil {
			return err
		} else if !ok {
			c.problem("session %s misses a key of kind %c", s.ID, key[0])
		}
	}
	return nil
}

// countSessions counts the live events of every session from the columns.
func (v *verifier) countSessions() map[uint32]SessionStats {
	counts := map[uint32]SessionStats{}
	for i := range v.g.manifest.Segments {
		columns := v.g.text.Columns(i)
		for doc := range columns.Docs() {
			if deletedIn(v.g.text, i, doc) {
				continue
			}
			row := columns.Row(doc)
			counts[row.Session] = counts[row.Session].plus(SessionStats{1, row.Timed, row.Time, row.Time})
		}
	}
	return counts
}

// sources checks every certificate and the sums over all of them.
func (v *verifier) sources(c *VerifyCheck) error {
	g := v.g
	var sum Statistics
	var deliveries Deliveries
	var indexed uint64
	err := g.Certificates(func(cert *Certificate) error {
		c.Checked++
		sum.count(cert, 1)
		deliveries.count(cert.Provider, cert.Route, 1)
		indexed += cert.Counts.Indexed
		if err := cert.valid(); err != nil {
			c.problem("source %s: %v", cert.Source, err)
		}
		if cert.Source != record.SourceID(cert.Provider, cert.Anchor) {
			c.problem("source %s does not follow from its anchor", cert.Source)
		}
		if cert.Descriptor != record.DescriptorDigest(cert.Provider, cert.Format, cert.Variant, cert.IdentityVersion, cert.Source) {
			c.problem("source %s does not follow from its descriptor", cert.Source)
		}
		b, ok, err := g.get(nil, ordinalKey(keySourceOrdinal, cert.Ordinal))
		if err != nil {
			return err
		}
		if !ok || record.Digest(b) != cert.Source {
			c.problem("source %s is not found by its ordinal", cert.Source)
		}
		frontier, err := g.Frontier(cert.Source)
		if err == nil && (len(frontier) > 0) != cert.HasFrontier {
			c.problem("source %s and its frontier disagree", cert.Source)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range g.manifest.Segments {
		sum.Events += uint64(s.Live)
		sum.Searchable += uint64(s.Searchable)
	}
	sum.Sessions = g.manifest.Stats.Sessions // checked on its own
	if sum != g.manifest.Stats {
		c.problem("the manifest counts %+v, stored is %+v", g.manifest.Stats, sum)
	}
	if !slices.Equal(deliveries, g.Deliveries()) {
		c.problem("the sources are counted as delivered by %v, stored is %v", g.Deliveries(), deliveries)
	}
	if indexed != sum.Events {
		c.problem("the certificates count %d events, stored are %d", indexed, sum.Events)
	}
	return nil
}

// identity computes the sums over all certificates and sessions and the id again.
func (v *verifier) identity(c *VerifyCheck) error {
	m := v.g.manifest
	for table, want := range [sums]string{m.Certificates, m.Sessions} {
		var s tableSum
		err := v.g.scan([]byte{sumLetters[table]}, func(k, value []byte) error {
			facts, err := factsOf(table, value)
			s.add(table, record.Digest(k[1:]), facts, 1)
			c.Checked++
			return err
		})
		if err != nil {
			return err
		}
		if s.hex() != want {
			c.problem("the entries of table %c differ from their sum", sumLetters[table])
		}
	}
	if m.identity() != m.Generation {
		c.problem("the id of the generation does not follow from its content")
	}
	return nil
}
