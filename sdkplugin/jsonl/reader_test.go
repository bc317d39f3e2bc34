package jsonl

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// write puts a file into a fresh route and returns the route.
func write(t testing.TB, name, content string) string {
	t.Helper()
	route := t.TempDir()
	path := filepath.Join(route, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return route
}

func open(t testing.TB, route, name string, work *Work) *File {
	t.Helper()
	f, err := Open(route, name, work)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// lines renders what a reader yields from where it stands.
func lines(t testing.TB, r *Reader) []string {
	t.Helper()
	var out []string
	for r.Next() {
		l := r.Line()
		kind := [...]string{"record", "blank", "padding", "long"}[l.Kind]
		text := string(l.Bytes)
		if len(text) > 40 {
			text = fmt.Sprintf("(%d bytes)", len(text))
		}
		out = append(out, fmt.Sprintf("%d %s %d+%d @%d %q", l.Ordinal, kind, l.Start, l.Length, l.Offset, text))
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return out
}

func checkpointOf(prefix string, count int) Checkpoint {
	return Checkpoint{Offset: uint64(len(prefix)), Lines: uint64(count), Digest: sha256.Sum256([]byte(prefix))}
}

func TestFraming(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
		certain  int // certified bytes
	}{
		{"empty", "", nil, 0},
		{"two lines", "{}\n[1]\n", []string{`0 record 0+3 @0 "{}"`, `1 record 3+4 @3 "[1]"`}, 7},
		{"torn tail that parses", "{}\n{\"a\":1}", []string{`0 record 0+3 @0 "{}"`}, 3},
		{"only a tail", "{}", nil, 0},
		{"one CR only", "a\r\nb\r\r\n", []string{`0 record 0+3 @0 "a"`, `1 record 3+4 @3 "b\r"`}, 7},
		{"CR inside", "a\rb\n", []string{`0 record 0+4 @0 "a\rb"`}, 4},
		{"blank lines keep ordinals", "\n \t\r\nx\n", []string{`0 blank 0+1 @0 ""`, `1 blank 1+4 @1 " \t"`, `2 record 5+2 @5 "x"`}, 7},
		{"mark on line 0 only", "\xef\xbb\xbfa\n\xef\xbb\xbfb\n", []string{`0 record 0+5 @3 "a"`, `1 record 5+5 @5 "\ufeffb"`}, 10},
		{"mark alone", "\xef\xbb\xbf\n", []string{`0 blank 0+4 @3 ""`}, 4},
		{"NUL padding", "\x00\x00a\x00b\x00\nc\x00\r\n\x00\x00\n", []string{`0 record 0+7 @2 "a\x00b"`, `1 record 7+4 @7 "c"`, `2 padding 11+3 @13 ""`}, 14},
		{"mark then NUL", "\xef\xbb\xbf\x00a\n", []string{`0 record 0+6 @4 "a"`}, 6},
		{"NUL tail", "a\n\x00\x00\x00", []string{`0 record 0+2 @0 "a"`}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := open(t, write(t, "s.jsonl", tt.in), "s.jsonl", nil)
			for name, start := range map[string]func(*Reader){
				"file":        func(r *Reader) { r.Reset(f) },
				"stream":      func(r *Reader) { r.ResetStream(strings.NewReader(tt.in)) },
				"small reads": func(r *Reader) { r.ResetStream(iotest.OneByteReader(strings.NewReader(tt.in))) },
			} {
				var r Reader
				start(&r)
				got := lines(t, &r)
				if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
					t.Errorf("%s:\ngot  %v\nwant %v", name, got, tt.want)
				}
				if c := r.Checkpoint(); c != checkpointOf(tt.in[:tt.certain], len(tt.want)) {
					t.Errorf("%s: checkpoint %+v does not cover %d bytes", name, c, tt.certain)
				}
				if r.tail() != uint64(len(tt.in)-tt.certain) {
					t.Errorf("%s: tail %d, want %d", name, r.tail(), len(tt.in)-tt.certain)
				}
			}
		})
	}
}

// Whatever byte a write is torn at, the lines before it are read, and the rest follows from the checkpoint.
func TestTornAtEveryByteThenAppended(t *testing.T) {
	t.Parallel()
	whole := "\xef\xbb\xbf{\"a\":1}\r\n\n\x00{\"b\":\"é\"}\x00\n\x00\x00\n{\"c\":3}\n"
	route := write(t, "dir/s.jsonl", whole)
	var full Reader
	full.Reset(open(t, route, "dir/s.jsonl", nil))
	want := lines(t, &full)
	path := filepath.Join(route, "dir", "s.jsonl")
	var r Reader
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, []byte(whole[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		r.Reset(open(t, route, "dir/s.jsonl", nil))
		got := lines(t, &r)
		c := r.Checkpoint()
		if certain := strings.LastIndexByte(whole[:cut], '\n') + 1; c != checkpointOf(whole[:certain], len(got)) {
			t.Fatalf("cut at %d: checkpoint %+v", cut, c)
		}
		if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		r.Reset(open(t, route, "dir/s.jsonl", nil))
		same, err := r.Verify(context.Background(), c)
		if err != nil || !same {
			t.Fatalf("cut at %d: Verify = %v, %v", cut, same, err)
		}
		got = append(got, lines(t, &r)...)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("cut at %d:\ngot  %v\nwant %v", cut, got, want)
		}
		if r.Checkpoint() != full.Checkpoint() || r.BytesRead() != uint64(len(whole)) {
			t.Fatalf("cut at %d: append and full scan differ: %+v, %d bytes read", cut, r.Checkpoint(), r.BytesRead())
		}
	}
}

func TestVerifyRefusesAnotherPrefix(t *testing.T) {
	t.Parallel()
	old := "one\ntwo\n"
	route := write(t, "s.jsonl", "one\ntwO\nthree\n")
	f := open(t, route, "s.jsonl", nil)
	for name, c := range map[string]Checkpoint{
		"rewritten":            checkpointOf(old, 2),
		"longer than the file": checkpointOf(strings.Repeat("x", 99), 2),
		"empty digest":         {},
	} {
		var r Reader
		r.Reset(f)
		same, err := r.Verify(context.Background(), c)
		if same || err != nil {
			t.Errorf("%s: Verify = %v, %v", name, same, err)
		}
		if got := lines(t, &r); len(got) != 3 || r.Checkpoint() != checkpointOf("one\ntwO\nthree\n", 3) {
			t.Errorf("%s: the full scan afterwards gives %v", name, got)
		}
	}
	var r Reader
	r.Reset(f)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Verify(cancelled, checkpointOf("one\n", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Verify: %v", err)
	}
}

func TestLinesLongerThanTheLimit(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name, in string
		want     []string
	}{
		{"exactly the limit", long(MaxLine) + "\n", []string{fmt.Sprintf(`0 record 0+%d @0 "(%d bytes)"`, MaxLine+1, MaxLine)}},
		{"the limit and CR", long(MaxLine) + "\r\n", []string{fmt.Sprintf(`0 record 0+%d @0 "(%d bytes)"`, MaxLine+2, MaxLine)}},
		{"one more", long(MaxLine+1) + "\nb\n", []string{fmt.Sprintf(`0 long 0+%d @0 ""`, MaxLine+2), fmt.Sprintf(`1 record %d+2 @%d "b"`, MaxLine+2, MaxLine+2)}},
		{"two more", long(MaxLine+2) + "\nb\n", []string{fmt.Sprintf(`0 long 0+%d @0 ""`, MaxLine+3), fmt.Sprintf(`1 record %d+2 @%d "b"`, MaxLine+3, MaxLine+3)}},
		{"20 MiB in the middle", "a\n" + long(20<<20) + "\nb\n", []string{`0 record 0+2 @0 "a"`, fmt.Sprintf(`1 long 2+%d @2 ""`, 20<<20+1), fmt.Sprintf(`2 record %d+2 @%d "b"`, 20<<20+3, 20<<20+3)}},
		{"33 MiB of padding", strings.Repeat("\x00", 33<<20) + "\n", []string{fmt.Sprintf(`0 padding 0+%d @0 ""`, 33<<20+1)}},
		{"20 MiB tail", "a\n" + long(20<<20), []string{`0 record 0+2 @0 "a"`}},
	}
	var r Reader
	for _, tt := range tests {
		f := open(t, write(t, "s", tt.in), "s", nil)
		r.Reset(f)
		if got := lines(t, &r); strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s:\ngot  %v\nwant %v", tt.name, got, tt.want)
		}
		certain := strings.LastIndexByte(tt.in, '\n') + 1
		if c := r.Checkpoint(); c != checkpointOf(tt.in[:certain], len(tt.want)) {
			t.Errorf("%s: wrong digest or offset %d, want %d", tt.name, c.Offset, certain)
		}
		if r.tail() != uint64(len(tt.in)-certain) || r.Next() {
			t.Errorf("%s: tail %d", tt.name, r.tail())
		}
		if len(r.buf) > lastBuffer {
			t.Errorf("%s: buffer of %d bytes", tt.name, len(r.buf))
		}
	}
}

func TestCutDuringTheScan(t *testing.T) {
	t.Parallel()
	route := write(t, "s", strings.Repeat("line\n", 200_000))
	f := open(t, route, "s", nil)
	var r Reader
	r.Reset(f)
	if !r.Next() {
		t.Fatal(r.Err())
	}
	if err := os.Truncate(filepath.Join(route, "s"), 400_000); err != nil {
		t.Fatal(err)
	}
	for r.Next() {
	}
	var failure *Failure
	if !errors.As(r.Err(), &failure) || failure.Class != Changed {
		t.Errorf("a cut file ends with %v", r.Err())
	}
	r.Reset(f)
	if _, err := r.Verify(context.Background(), checkpointOf(strings.Repeat("line\n", 100_000), 100_000)); !errors.As(err, &failure) || failure.Class != Changed {
		t.Errorf("Verify of a cut file: %v", err)
	}
}

func TestStreamError(t *testing.T) {
	t.Parallel()
	var r Reader
	r.ResetStream(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("a\nb\n"))))
	n := 0
	for r.Next() {
		n++
	}
	if r.Err() == nil || r.Next() {
		t.Errorf("a failing stream ends after %d lines with %v", n, r.Err())
	}
}

func TestReaderAllocatesNothingPerLine(t *testing.T) {
	route := write(t, "s", strings.Repeat("{\"type\":\"x\"}\n", 5000))
	var work Work
	f := open(t, route, "s", &work)
	var r Reader
	count := 0
	run := func() {
		r.Reset(f)
		for r.Next() {
			count++
		}
	}
	run()
	if allocs := testing.AllocsPerRun(5, run); allocs > 3 {
		t.Errorf("%v allocations for 5000 lines", allocs)
	}
	if count != 7*5000 || work.FilesOpened.Load() != 1 || work.BytesRead.Load() != 7*5000*13 {
		t.Errorf("%d lines, %d files opened, %d bytes read", count, work.FilesOpened.Load(), work.BytesRead.Load())
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\r\n\x00\n\xef\xbb\xbf{}\n tail"), 3)
	f.Add([]byte("\xef\xbb\xbf\x00\r\n\n\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		var whole, part Reader
		whole.ResetStream(bytes.NewReader(data))
		want := lines(t, &whole)
		if len(want) != bytes.Count(data, []byte{'\n'}) {
			t.Fatalf("%d lines of %d", len(want), bytes.Count(data, []byte{'\n'}))
		}
		if cut < 0 || cut > len(data) {
			return
		}
		part.ResetStream(bytes.NewReader(data[:cut]))
		got := lines(t, &part)
		c := part.Checkpoint()
		part.ResetStream(iotest.HalfReader(bytes.NewReader(data)))
		if same, err := part.Verify(context.Background(), c); !same || err != nil {
			t.Fatal(same, err)
		}
		if got = append(got, lines(t, &part)...); strings.Join(got, "\n") != strings.Join(want, "\n") || part.Checkpoint() != whole.Checkpoint() {
			t.Fatalf("cut at %d: %v, want %v", cut, got, want)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	line := append(bytes.Repeat([]byte("x"), 2000), '\n')
	data := bytes.Repeat(line, 16000)
	route := write(b, "s", string(data))
	f := open(b, route, "s", nil)
	var r Reader
	for _, digest := range []bool{false, true} {
		b.Run(fmt.Sprintf("digest=%v", digest), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				r.Reset(f)
				if !digest {
					r.sum = noSum{r.sum}
				}
				for r.Next() {
				}
				r.sum = sha256.New()
			}
		})
	}
}

func TestPaddedTail(t *testing.T) {
	for text, want := range map[string]bool{"a\n\x00\x00": true, "a\n": false, "a\n\x00b": false, "\x00": true, "": false} {
		var r Reader
		r.ResetStream(strings.NewReader(text))
		for r.Next() {
		}
		if r.PaddedTail() != want {
			t.Errorf("%q: padding %v", text, !want)
		}
	}
}

func TestUndigested(t *testing.T) {
	var r Reader
	read := func() Checkpoint {
		for r.Next() {
		}
		return r.Checkpoint()
	}
	r.ResetStream(strings.NewReader("a\nb\n"))
	whole := read()
	r.ResetStream(strings.NewReader("a\nb\n"))
	r.Undigested()
	if looked := read(); looked.Digest != sha256.Sum256(nil) || looked.Offset != whole.Offset {
		t.Errorf("%+v", looked)
	}
	r.ResetStream(strings.NewReader("a\nb\n"))
	if again := read(); again != whole {
		t.Errorf("%+v, want %+v", again, whole)
	}
}

func (r *Reader) tail() uint64 { return uint64(r.to-r.from) + r.skipped }

// A look at the beginning of a file reads as little with a buffer that a long line has made large as with a new one.
func TestLookAfterALongLine(t *testing.T) {
	t.Parallel()
	var r Reader
	r.Reset(open(t, write(t, "long", strings.Repeat("x", 4*firstBuffer)+"\n"), "long", nil))
	if got := lines(t, &r); len(got) != 1 || len(r.buf) <= 4*firstBuffer {
		t.Fatalf("%q in a buffer of %d bytes", got, len(r.buf))
	}
	var work Work
	r.Reset(open(t, write(t, "s", strings.Repeat("{}\n", firstBuffer)), "s", &work))
	if !r.Next() || work.BytesRead.Load() > firstBuffer {
		t.Errorf("one line took %d bytes", work.BytesRead.Load())
	}
	if got := len(lines(t, &r)); got != firstBuffer-1 || work.BytesRead.Load() != 3*firstBuffer {
		t.Errorf("%d more lines took %d bytes", got, work.BytesRead.Load())
	}
}
