package lexical

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/RoaringBitmap/roaring"
)

// synthetic generates text that looks like agent histories to an index: words by Zipf's law, identifiers, hex ids and numbers.
type synthetic struct {
	r     *rand.Rand
	zipf  *rand.Zipf
	words []string
	text  []byte
}

const vocabulary = 60_000

func newSynthetic(seed uint64) *synthetic {
	r := rand.New(rand.NewPCG(seed, 7))
	g := &synthetic{r: r, zipf: rand.NewZipf(r, 1.15, 3, vocabulary-1)}
	letters := "etaoinshrdlucmfwypvbgkqjxz"
	fixed := rand.New(rand.NewPCG(1, 1)) // the vocabulary is the same for every seed
	for i := range vocabulary {
		word := make([]byte, 2+int(math.Log2(float64(i+1))/2)+fixed.IntN(4))
		for j := range word {
			word[j] = letters[int(float64(len(letters))*fixed.Float64()*fixed.Float64())]
		}
		g.words = append(g.words, string(word))
	}
	g.words[0], g.words[1], g.words[2] = "the", "to", "file"
	return g
}

// document returns the text of one event, a few words to several KiB.
func (g *synthetic) document() []byte {
	g.text = g.text[:0]
	for range int(math.Exp(g.r.NormFloat64()*1.1+4.4)) + 1 {
		switch n := g.r.IntN(100); {
		case n < 90:
			g.text = append(g.text, g.words[g.zipf.Uint64()]...)
		case n < 92:
			g.text = fmt.Appendf(g.text, "%x", g.r.Uint64N(1<<g.r.IntN(60)))
		case n < 98:
			g.text = fmt.Appendf(g.text, "%d", g.r.IntN(1<<g.r.IntN(16)))
		default:
			g.text = append(g.text, "Error: "...)
		}
		g.text = append(g.text, " \n./_("[g.r.IntN(6)])
	}
	return g.text
}

func (g *synthetic) row(n int) Row {
	return Row{
		ID: g.r.Uint64(), Time: 1_700_000_000_000 + int64(n)*1000, Timed: n%50 != 0, Sequence: uint64(n % 400), Session: uint32(n / 400),
		Source: uint32(n / 400), Provider: uint16(n / 400 % 3), Type: uint8(g.r.IntN(9)), Role: uint8(g.r.IntN(4)), Scope: uint8(n / 800 % 2),
		Eligible: n%40 != 7,
	}
}

func (g *synthetic) terms(n int) []Term {
	return []Term{
		{EventType, []byte([]string{"message", "tool_call", "tool_output"}[g.r.IntN(3)])},
		{FactSessionCWD, fmt.Appendf(nil, "/home/dev/project%d", n/800)},
		{FactFile, fmt.Appendf(nil, "/home/dev/project%d/src/file%d.go", n/800, g.r.IntN(60))},
	}
}

// buildIndex writes segments of the given numbers of documents and their snapshot.
func buildIndex(tb testing.TB, dir string, deleted map[uint32]*roaring.Bitmap, add func(b *Builder, doc int), docs ...int) []Segment {
	tb.Helper()
	b := NewBuilder(nil)
	var segments []Segment
	n := 0
	for i, count := range docs {
		for range count {
			add(b, n)
			n++
		}
		id := uint32(i + 1)
		segments = append(segments, flushTo(tb, b, dir, id, deleted))
	}
	if err := WriteSnapshot(filepath.Join(dir, SnapshotFile), segments, deleted); err != nil {
		tb.Fatal(err)
	}
	return segments
}

// flushTo writes one segment and returns its manifest entry, with the given documents deleted.
func flushTo(tb testing.TB, b *Builder, dir string, id uint32, deleted map[uint32]*roaring.Bitmap) Segment {
	tb.Helper()
	seg, err := os.Create(filepath.Join(dir, SegmentFile(id)))
	if err != nil {
		tb.Fatal(err)
	}
	defer seg.Close()
	col, err := os.Create(filepath.Join(dir, ColumnFile(id)))
	if err != nil {
		tb.Fatal(err)
	}
	defer col.Close()
	segment, err := b.Flush(seg, col)
	segment.ID = id
	if err != nil {
		tb.Fatal(err)
	}
	if deleted[id] == nil {
		return segment
	}
	columns, err := OpenColumns(filepath.Join(dir, ColumnFile(id)))
	if err != nil {
		tb.Fatal(err)
	}
	defer columns.Close()
	return columns.Describe(id, deleted[id])
}
