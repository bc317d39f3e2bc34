package lexical

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/RoaringBitmap/roaring"

	"github.com/agenthistory/ctx/host/fault"
)

func columnFile(t *testing.T, rows []Row, tokens []uint32) (string, []byte) {
	t.Helper()
	var file bytes.Buffer
	if err := writeColumns(&file, rows, tokens, sumUp(rows, tokens)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), ColumnFile(3))
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, file.Bytes()
}

func TestColumnsRoundTrip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 8))
	rows := []Row{
		{},
		{ID: math.MaxUint64, Time: math.MaxInt64, Timed: true, Sequence: math.MaxUint64, Session: math.MaxUint32, Source: math.MaxUint32,
			Provider: math.MaxUint16, Type: 255, Role: 255, Scope: 255, Eligible: true, Copy: true},
		{Time: -5, Timed: true},
	}
	for range 1000 {
		rows = append(rows, Row{ID: r.Uint64(), Time: r.Int64N(1e12), Timed: true, Sequence: r.Uint64(), Session: r.Uint32N(9), Type: uint8(r.IntN(9))})
	}
	tokens := make([]uint32, len(rows))
	for i := range tokens {
		tokens[i] = uint32(i % 5)
	}
	path, _ := columnFile(t, rows, tokens)
	c, err := OpenColumns(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Docs() != uint32(len(rows)) {
		t.Fatalf("%d rows", c.Docs())
	}
	for i, want := range rows {
		if got := c.Row(uint32(i)); got != want {
			t.Fatalf("row %d is %+v, want %+v", i, got, want)
		}
		if got := c.Tokens(uint32(i)); got != tokens[i] {
			t.Fatalf("row %d has %d tokens", i, got)
		}
	}
	if err := c.Verify(); err != nil {
		t.Error(err)
	}
}

func TestSmallestTimeIsNotUntimed(t *testing.T) {
	t.Parallel()
	path, _ := columnFile(t, []Row{{Time: math.MinInt64, Timed: true}, {}}, []uint32{1, 1})
	c, err := OpenColumns(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if ms, timed := c.Time(0); !timed || ms != math.MinInt64+1 {
		t.Errorf("%d %v", ms, timed)
	}
	if _, timed := c.Time(1); timed {
		t.Error("untimed row has a time")
	}
}

func TestColumnTotals(t *testing.T) {
	t.Parallel()
	rows := []Row{
		{Time: 50, Timed: true, Session: 4},
		{Time: 10, Timed: true, Session: 9},
		{Session: 2},
		{Time: 70, Timed: true, Session: 5},
	}
	path, _ := columnFile(t, rows, []uint32{3, 0, 4, 7})
	c, err := OpenColumns(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if from, to, timed := c.minTime, c.maxTime, c.timed; from != 10 || to != 70 || timed != 3 {
		t.Errorf("times %d-%d of %d", from, to, timed)
	}
	if from, to := c.minSession, c.maxSession; from != 2 || to != 9 {
		t.Errorf("sessions %d-%d", from, to)
	}
	for _, x := range []struct {
		name    string
		deleted *roaring.Bitmap
		want    Segment
	}{
		{"as written", nil, Segment{ID: 6, Docs: 4, Live: 4, Searchable: 3, Tokens: 14}},
		{"two deleted", roaring.BitmapOf(1, 2), Segment{ID: 6, Docs: 4, Live: 2, Searchable: 2, Tokens: 10}},
		{"all deleted", roaring.BitmapOf(0, 1, 2, 3), Segment{ID: 6, Docs: 4}},
		{"one that is not there", roaring.BitmapOf(0, 9), Segment{ID: 6, Docs: 4, Live: 3, Searchable: 2, Tokens: 11}},
	} {
		if got := c.Describe(6, x.deleted); got != x.want {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
}

func TestColumnBoundsWithoutTimes(t *testing.T) {
	t.Parallel()
	path, _ := columnFile(t, []Row{{Session: 3}}, []uint32{0})
	c, err := OpenColumns(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if from, to, timed := c.minTime, c.maxTime, c.timed; from != 0 || to != 0 || timed != 0 {
		t.Errorf("times %d-%d of %d", from, to, timed)
	}
}

func TestDamagedColumns(t *testing.T) {
	t.Parallel()
	rows := []Row{{ID: 1, Eligible: true}, {ID: 2, Time: 5, Timed: true}}
	path, file := columnFile(t, rows, []uint32{1, 2})
	refused := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := OpenColumns(path)
		if err == nil {
			err = c.Verify()
			c.Close()
		}
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for n := range file {
		refused("a file cut short", file[:n])
		damaged := bytes.Clone(file)
		damaged[n] ^= 0x10
		refused("a changed byte", damaged)
	}
	refused("a longer file", append(bytes.Clone(file), 0))
	if _, err := OpenColumns(filepath.Join(t.TempDir(), "none.col")); fault.Code(err) != fault.IndexCorruption {
		t.Errorf("missing file: %v", err)
	}
}
