package lexical

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blevesearch/vellum"
)

// checkDictionary writes the terms and reads them back with vellum.
func checkDictionary(t *testing.T, terms [][]byte, value func(i int) uint64) {
	t.Helper()
	slices.SortFunc(terms, bytes.Compare)
	terms = slices.CompactFunc(terms, bytes.Equal)
	var d dictionaryWriter
	d.reset()
	for i, term := range terms {
		d.insert(term, value(i))
	}
	fst, err := vellum.Load(slices.Clone(d.finish()))
	if err != nil {
		t.Fatal(err)
	}
	if fst.Len() != len(terms) {
		t.Fatalf("length %d, want %d", fst.Len(), len(terms))
	}
	i := 0
	it, err := fst.Iterator(nil, nil)
	for ; err == nil; err = it.Next() {
		term, v := it.Current()
		if i >= len(terms) || !bytes.Equal(term, terms[i]) || v != value(i) {
			t.Fatalf("entry %d is %q %d", i, term, v)
		}
		i++
	}
	if !errors.Is(err, vellum.ErrIteratorDone) || i != len(terms) {
		t.Fatalf("enumerated %d of %d: %v", i, len(terms), err)
	}
	for i, term := range terms {
		if v, ok, err := fst.Get(term); err != nil || !ok || v != value(i) {
			t.Fatalf("%q gives %d %v %v, want %d", term, v, ok, err, value(i))
		}
		for _, other := range [][]byte{term[:len(term)-1], append(slices.Clone(term), 'x')} {
			_, want := slices.BinarySearchFunc(terms, other, bytes.Compare)
			if _, ok, err := fst.Get(other); err != nil || ok != want {
				t.Fatalf("%q found %v, want %v (%v)", other, ok, want, err)
			}
		}
	}
}

func TestDictionary(t *testing.T) {
	t.Parallel()
	list := func(terms ...string) (out [][]byte) {
		for _, term := range terms {
			out = append(out, []byte(term))
		}
		return out
	}
	var allBytes, pairs [][]byte
	for a := range 256 {
		allBytes = append(allBytes, []byte{byte(a)})
		for b := 0; b < 256; b += 1 + a%7 {
			pairs = append(pairs, []byte{'k', byte(a), byte(b)})
		}
	}
	ascending := func(i int) uint64 { return uint64(i)*37 + 100 }
	for _, c := range []struct {
		name  string
		terms [][]byte
		value func(int) uint64
	}{
		{"empty", nil, ascending},
		{"one", list("a"), ascending},
		{"one long", [][]byte{bytes.Repeat([]byte("long "), 14_000)}, ascending},
		{"prefixes", list("a", "ab", "abc", "abcd", "b"), ascending},
		{"prefixes, falling values", list("a", "ab", "abc", "abcd", "b"), func(i int) uint64 { return uint64(90 - i) }},
		{"shared endings", list("walking", "talking", "stalking", "king"), ascending},
		{"equal values", list("a", "b", "bc", "d"), func(int) uint64 { return 7 }},
		{"zero values", list("a", "b", "bc", "d"), func(int) uint64 { return 0 }},
		{"all bytes", allBytes, ascending},
		{"all bytes twice", pairs, ascending},
		{"huge values", pairs, func(i int) uint64 { return 1<<63 | uint64(i*i)<<31 }},
		{"mixed values", pairs, func(i int) uint64 { return uint64(i%3) << (i % 61) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkDictionary(t, c.terms, c.value)
		})
	}
}

func TestDictionaryRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		var terms [][]byte
		alphabet := 1 + r.IntN(255)
		for range r.IntN(500) {
			term := make([]byte, 1+r.IntN(1+r.IntN(20)))
			for i := range term {
				term[i] = byte(r.IntN(alphabet))
			}
			terms = append(terms, term)
		}
		values := make([]uint64, len(terms))
		for i := range values {
			values[i] = r.Uint64N(1 << (1 + r.IntN(63)))
		}
		checkDictionary(t, terms, func(i int) uint64 { return values[i] })
	}
}
