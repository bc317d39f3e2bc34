package record

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
)

func TestEventsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	var decoded Event // one for all, as a reader uses it
	for seed := range uint64(2000) {
		r := newSampler(seed)
		e, s := r.event(), r.session()
		if err := Admit(e, s); err != nil {
			t.Fatalf("seed %d refused: %v", seed, err)
		}
		stored := Encode(nil, e)
		if err := Decode(stored, &decoded); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sameEvent(t, &decoded, e)
		if again := Encode(nil, &decoded); !bytes.Equal(again, stored) {
			t.Fatalf("seed %d: encoded again\n%x\n%x", seed, again, stored)
		}
	}
}

func TestSessionsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		s := newSampler(seed).session()
		stored := s.Encode(nil)
		var got Session
		if err := got.Decode(stored); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(&got, s) {
			t.Fatalf("got  %+v\nwant %+v", got, s)
		}
		for n := range stored {
			if err := got.Decode(stored[:n]); err == nil {
				t.Fatalf("%d of %d bytes accepted", n, len(stored))
			}
		}
		if err := got.Decode(append(stored, 0)); fault.Code(err) != fault.IndexCorruption {
			t.Fatalf("a byte behind the end: %v", err)
		}
		if err := got.Decode(append([]byte{sessionVersion + 1}, stored[1:]...)); err == nil {
			t.Fatal("another version accepted")
		}
	}
}

// small is an event in which every byte of the storage form is known.
func small() *Event {
	return &Event{
		Sequence: 300, Type: Message, Role: User, HasBody: true,
		Structured: []byte(`{"a":"b c"}`), Body: Value{Spans: []Span{{Offset: 5, Length: 5, Quoted: true}}},
		EncodedBytes: 1, ContentBytes: 2,
	}
}

func TestStorageFormIsFixed(t *testing.T) {
	want := bytes.Join([][]byte{
		{1, hasRole | hasBody | hasStructured}, make([]byte, 32), {0, 0xac, 0x02, 1, 1, 0, 1, 2},
		{11}, []byte(`{"a":"b c"}`), {3, 5, 11},
	}, nil)
	if got := Encode(nil, small()); !bytes.Equal(got, want) {
		t.Fatalf("got  %x\nwant %x", got, want)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := Encode(nil, small())
	change := func(at int, b byte) []byte {
		bad := bytes.Clone(good)
		bad[(len(bad)+at)%len(bad)] = b
		return bad
	}
	tests := map[string][]byte{
		"nothing":              nil,
		"other version":        change(0, 2),
		"unknown flag":         append([]byte{1, 0x80, 0x10}, good[2:]...),
		"byte behind the end":  append(bytes.Clone(good), 0),
		"long number":          bytes.Replace(good, []byte{0xac, 0x02}, []byte{0xac, 0x82, 0x00}, 1),
		"unknown type":         change(37, 99),
		"unknown role":         change(38, 99),
		"unknown scope":        change(39, 3),
		"span behind the end":  change(-2, 7),
		"span without a quote": change(-2, 4),
		"span of one quote":    change(-1, 3),
		"no spans":             change(-3, 1),
	}
	for name, src := range tests {
		t.Run(name, func(t *testing.T) {
			var e Event
			if err := Decode(src, &e); fault.Code(err) != fault.IndexCorruption {
				t.Fatalf("accepted: %v", err)
			}
		})
	}
	for n := range good {
		if err := Decode(good[:n], new(Event)); err == nil {
			t.Errorf("%d of %d bytes accepted", n, len(good))
		}
	}
}

func TestKnownNameSpelledOutIsRefused(t *testing.T) {
	e := small()
	e.Type = "other"
	stored := Encode(nil, e)
	spelled := bytes.Replace(stored, append([]byte{0, 5}, "other"...), append([]byte{0, 7}, Message...), 1)
	if err := Decode(spelled, new(Event)); err == nil {
		t.Fatal("accepted")
	}
}

func TestDecodeSharesAndReuses(t *testing.T) {
	e := &Event{Type: Message, HasBody: true, Body: Value{Inline: []byte("hello")}, NativeID: AppendTypedU64(nil, 1)}
	stored := Encode(nil, e)
	var d Event
	allocations := testing.AllocsPerRun(50, func() {
		if err := Decode(stored, &d); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
	stored[bytes.Index(stored, []byte("hello"))] = 'j'
	if got := string(d.AppendBody(nil)); got != "jello" {
		t.Errorf("the body was copied: %q", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(nil, small()))
	for seed := range uint64(12) {
		r := newSampler(seed)
		e := r.event()
		f.Add(Encode(nil, e))
	}
	session := newSampler(3).session()
	f.Fuzz(func(t *testing.T, src []byte) {
		var e Event
		if Decode(src, &e) != nil {
			return
		}
		if again := Encode(nil, &e); !bytes.Equal(again, src) {
			t.Fatalf("two forms of one event\n%x\n%x", src, again)
		}
		// Whatever decodes can be read without a panic.
		AppendShownRow(nil, &e, session)
		AppendRangeRow(nil, &e, session, ContentFull)
		projected(&e)
	})
}

func BenchmarkCodec(b *testing.B) {
	for name, size := range map[string]int{"1KiB": 1 << 10, "1MiB": 1 << 20} {
		e := &Event{
			Type: Message, Role: Assistant, HasBody: true, Body: Value{Inline: bytes.Repeat([]byte("some text "), size/10)},
			Activity: &Activity{Facts: []Fact{{FactSessionCWD, []byte("/home/u/project")}, {FactBranch, []byte("main")}}},
			NativeID: keyList(text("01900000-0000-7000-8000-000000000001"), AppendTypedU64(nil, 0)), Timed: true, OccurredAt: 1767323045000,
		}
		stored := Encode(nil, e)
		b.Run("Encode/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(stored)))
			for b.Loop() {
				stored = Encode(stored[:0], e)
			}
		})
		b.Run("Decode/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(stored)))
			var d Event
			for b.Loop() {
				if err := Decode(stored, &d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
