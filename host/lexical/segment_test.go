package lexical

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// sample is one document of a test.
type sample struct {
	text  string
	terms []Term
	row   Row
}

// posting is one decoded posting.
type posting struct{ doc, frequency uint32 }

// expected says which postings the builder should make of samples, by field and term.
func expected(samples []sample) (fields [fieldCount]map[string][]posting) {
	note := func(f Field, term string, doc int, again bool) {
		if fields[f] == nil {
			fields[f] = map[string][]posting{}
		}
		list := fields[f][term]
		if n := len(list); n == 0 || list[n-1].doc != uint32(doc) {
			fields[f][term] = append(list, posting{uint32(doc), 1})
		} else if again {
			list[n-1].frequency++
		}
	}
	for doc, s := range samples {
		if s.row.Eligible {
			for _, token := range slowTokens([]byte(s.text)) {
				note(Body, token, doc, true)
			}
		}
		for _, term := range s.terms {
			if len(term.Value) > 0 {
				note(term.Field, string(term.Value), doc, false) // repetitions of keyword values count once
			}
		}
	}
	return fields
}

// compareSegment builds a segment of the samples and compares everything that readers can see with what should be there.
func compareSegment(t *testing.T, samples []sample) {
	t.Helper()
	b := NewBuilder(nil)
	for i, s := range samples {
		if doc := b.Add([]byte(s.text), s.terms, s.row); doc != uint32(i) {
			t.Fatalf("document %d got number %d", i, doc)
		}
	}
	var file bytes.Buffer
	if _, err := b.Flush(&file, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := verifyChecksum(file.Bytes()); err != nil {
		t.Fatal(err)
	}
	parsed, err := parseSegment(file.Bytes(), uint32(len(samples)))
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range expected(samples) {
		own, err := parsed.dictionary(Field(f))
		if err != nil {
			t.Fatal(err)
		}
		terms := slices.Sorted(maps.Keys(want))
		err = parsed.eachTerm(Field(f), func(term []byte, _ uint64) bool {
			if len(terms) == 0 || terms[0] != string(term) {
				t.Fatalf("%s: unexpected term %q", Field(f), term)
			}
			terms = terms[1:]
			if got := decodePostings(t, own, term); !slices.Equal(got, want[string(term)]) {
				t.Fatalf("%s: postings of %q differ", Field(f), term)
			}
			return true
		})
		if err != nil || len(terms) > 0 {
			t.Fatalf("%s: %v, terms %q are missing", Field(f), err, terms)
		}
	}
}

func decodePostings(t *testing.T, d dictionary, term []byte) (out []posting) {
	t.Helper()
	list, found, err := d.lookup(term)
	if err != nil || !found {
		t.Fatalf("%q: found %v, %v", term, found, err)
	}
	var batch postingBatch
	var work Work
	err = list.each(&batch, &work, func(n int) {
		for i := range n {
			out = append(out, posting{batch.docs[i], batch.frequencies[i]})
		}
	})
	if err != nil || uint32(len(out)) != list.count || work.Postings != uint64(list.count) {
		t.Fatalf("%q: decoded %d postings, count %d, work %d, %v", term, len(out), list.count, work.Postings, err)
	}
	return out
}

// randomSamples makes documents whose terms range from everywhere to once.
func randomSamples(r *rand.Rand, n, tokens int) []sample {
	samples := make([]sample, n)
	for i := range samples {
		var text strings.Builder
		for range r.IntN(tokens + 1) {
			fmt.Fprintf(&text, "w%d ", int(math.Exp(r.Float64()*9)))
		}
		if r.IntN(3) > 0 {
			text.WriteString("often ")
		}
		if i/1000%2 == 0 {
			text.WriteString("stretches ")
		}
		if r.IntN(200) == 0 {
			text.WriteString(strings.Repeat("again ", 50+r.IntN(900)))
		}
		s := sample{text: text.String(), row: Row{
			ID: r.Uint64(), Time: int64(r.IntN(1000)), Timed: r.IntN(8) > 0, Sequence: uint64(r.IntN(50)), Session: uint32(i / 20),
			Source: uint32(i / 40), Provider: uint16(r.IntN(3)), Type: uint8(r.IntN(5)), Role: uint8(r.IntN(4)), Scope: uint8(r.IntN(2)),
			Eligible: r.IntN(10) > 0, Copy: r.IntN(30) == 0,
		}}
		if r.IntN(4) > 0 {
			s.terms = append(s.terms, Term{EventType, fmt.Appendf(nil, "type%d", s.row.Type)})
		}
		for range r.IntN(4) {
			s.terms = append(s.terms, Term{FactFile, fmt.Appendf(nil, "/src/Dir%d/file%d.go", r.IntN(5), r.IntN(40))})
		}
		if r.IntN(20) == 0 {
			s.terms = append(s.terms, Term{FactSessionCWD, fmt.Appendf(nil, `C:\work\%d`, r.IntN(6))}, Term{Field: FactBranch}) // an empty value is none
		}
		samples[i] = s
	}
	return samples
}

func TestSegmentHoldsItsDocuments(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 3))
		samples := randomSamples(r, 1+r.IntN(1200), 1+r.IntN(40))
		samples[0].row.Eligible = true
		compareSegment(t, samples)
	}
}

// largeSamples have lists of many batches, and gaps of every length.
func largeSamples() []sample {
	const documents = 65_536 + 3_000
	samples := make([]sample, documents)
	for i := range samples {
		text := "every"
		for _, n := range []int{2, 3, 17, 60_000, 65_536, 66_000} {
			if i%n == 0 {
				text += fmt.Sprintf(" by%d", n)
			}
		}
		if i > 65_000 && i < 66_000 {
			text += " border"
		}
		samples[i] = sample{text: text, row: Row{Eligible: true}, terms: []Term{{EventType, fmt.Appendf(nil, "t%d", i/9000)}}}
	}
	return samples
}

func TestLargeSegment(t *testing.T) {
	t.Parallel()
	compareSegment(t, largeSamples())
}

func TestFlushIsDeterministicAndReusesMemory(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	first, second := randomSamples(r, 700, 30), randomSamples(r, 300, 30)
	write := func(b *Builder, samples []sample) (seg, col []byte) {
		for _, s := range samples {
			b.Add([]byte(s.text), s.terms, s.row)
		}
		if b.Docs() != len(samples) || b.Size() == 0 {
			t.Fatalf("%d documents, %d bytes", b.Docs(), b.Size())
		}
		var segFile, colFile bytes.Buffer
		if _, err := b.Flush(&segFile, &colFile); err != nil {
			t.Fatal(err)
		}
		if b.Docs() != 0 || b.Size() != 0 {
			t.Fatal("builder is not empty after Flush")
		}
		return segFile.Bytes(), colFile.Bytes()
	}
	pool := NewPool(1)
	used, fresh := NewBuilder(pool), NewBuilder(pool)
	write(used, first)
	segA, colA := write(used, second)
	segB, colB := write(fresh, second)
	if !bytes.Equal(segA, segB) || !bytes.Equal(colA, colB) {
		t.Error("files depend on what the builder wrote before")
	}
}

func TestEmptySegmentIsRefused(t *testing.T) {
	t.Parallel()
	var seg, col bytes.Buffer
	b := NewBuilder(nil)
	if _, err := b.Flush(&seg, &col); err != ErrEmptySegment {
		t.Errorf("empty builder: %v", err)
	}
	if seg.Len()+col.Len() > 0 {
		t.Error("something was written")
	}
	b.Add(nil, nil, Row{})
	segment, err := b.Flush(&seg, &col)
	if err != nil || segment.Live != 1 || segment.Searchable != 0 {
		t.Errorf("a document without text: %+v %v", segment, err)
	}
}

// failingWriter fails after some bytes.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

func TestFlushReportsWriteErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ seg, col io.Writer }{{&failingWriter{}, io.Discard}, {io.Discard, &failingWriter{}}} {
		b := NewBuilder(nil)
		b.Add([]byte("some words"), nil, Row{Eligible: true})
		if _, err := b.Flush(c.seg, c.col); err == nil {
			t.Error("no error")
		}
		if b.Docs() != 0 {
			t.Error("builder keeps documents after an error")
		}
	}
}

// A list with a document outside the segment, or cut short, is an error and never a wrong posting.
func TestMalformedList(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  []byte
		value uint64
	}{
		"no offset":            {[]byte{1, 0}, 2},
		"no postings":          {[]byte{0}, 0},
		"more than documents":  {[]byte{6, 0, 0, 0, 0, 0, 0}, 0},
		"cut":                  {[]byte{2, 0}, 0},
		"cut frequency":        {[]byte{1, 1}, 0},
		"document outside":     {[]byte{1, 10}, 0},
		"one document outside": {[]byte{2, 8, 0}, 0},
		"endless number":       {bytes.Repeat([]byte{0xFF}, 20), 0},
		"huge gap":             {append([]byte{1}, binary.AppendUvarint(nil, math.MaxUint64)...), 0},
	} {
		list, err := (&postingsFile{body: c.body, docs: 5}).list(c.value)
		if err == nil {
			err = list.each(new(postingBatch), new(Work), func(int) {})
		}
		if !errors.Is(err, errPostings) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever the bytes are, a list either ends in an error or gives as many documents as it says, ascending and inside the segment; what
// listWriter makes of them reads back the same.
func FuzzPostings(f *testing.F) {
	f.Add([]byte{3, 0, 2, 5, 7}, uint32(9))
	f.Add([]byte{1, 1}, uint32(1))
	f.Add([]byte{2, 0x80, 0x80, 0x04, 0}, uint32(1<<20))
	f.Fuzz(func(t *testing.T, body []byte, docs uint32) {
		decode := func(body []byte) (out []posting, err error) {
			list, err := (&postingsFile{body: body, docs: docs}).list(0)
			if err != nil {
				return nil, err
			}
			batch := new(postingBatch)
			err = list.each(batch, new(Work), func(n int) {
				for i := range n {
					out = append(out, posting{batch.docs[i], batch.frequencies[i]})
				}
			})
			if err == nil && len(out) != int(list.count) {
				t.Fatalf("%d postings of %d", len(out), list.count)
			}
			return out, err
		}
		out, err := decode(body)
		if err != nil {
			return
		}
		w := listWriter{b: binary.AppendUvarint(nil, uint64(len(out)))}
		for i, p := range out {
			if p.doc >= docs || i > 0 && p.doc <= out[i-1].doc {
				t.Fatalf("posting %d is of document %d", i, p.doc)
			}
			w.add(p.doc, p.frequency)
		}
		if again, err := decode(w.b); err != nil || !slices.Equal(again, out) {
			t.Fatalf("read back: %v", err)
		}
	})
}
