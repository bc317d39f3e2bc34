package core

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/record"
)

func sampleCertificate() Certificate {
	s := numbered("one", 1, 3)
	c := s.certificate()
	c.Ordinal, c.State, c.HasFrontier = 7, Gone, true
	c.Counts = Counts{Complete: 9, Retained: 3, Rejected: 4, Ignored: 2, Indexed: 3}
	c.Sighting = Sighting{Route: "route", Locator: "a/b.jsonl", Observation: []byte{0, 1, 255}, ModTime: -5, FileID: 1 << 63}
	c.Rejections = []Rejection{{Locator: "a", Line: 3, ByteOffset: new(uint64(400)), Class: "damaged", PayloadType: "x", Detail: "y"}, {}}
	c.Forgotten, c.Yields = []uint64{1, 1 << 63}, []uint64{7}
	return c
}

func TestCertificateRoundTrip(t *testing.T) {
	t.Parallel()
	want := sampleCertificate()
	var got Certificate
	if err := got.decode(want.encode()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	moved := want
	moved.Sighting, moved.Ordinal, moved.HasFrontier, moved.Rejections = Sighting{}, 0, false, nil
	if moved.facts() != want.facts() {
		t.Error("the facts depend on where the source was seen")
	}
	changed := want
	changed.State = Present
	if changed.facts() == want.facts() {
		t.Error("the facts leave the state out")
	}
}

// whole checks that a decoder refuses every cut and every trailing byte.
func whole(t *testing.T, b []byte, decode func([]byte) error) {
	t.Helper()
	if err := decode(b); err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if decode(b[:n]) == nil {
			t.Fatalf("the first %d of %d bytes are accepted", n, len(b))
		}
	}
	if decode(append(bytes.Clone(b), 0)) == nil {
		t.Fatal("a trailing byte is accepted")
	}
}

func TestCutValues(t *testing.T) {
	t.Parallel()
	c := sampleCertificate()
	whole(t, c.encode(), new(Certificate).decode)
	whole(t, sessionRef{ordinal: 300, facts: record.Digest{1}}.encode(), func(b []byte) error {
		_, err := decodeSessionRef(b)
		return err
	})
	s := numbered("one", 1, 1)
	row := encodeSession(s.record(s.sessions[0]), SessionStats{Events: 3, Timed: true, First: -7, Last: 9})
	whole(t, row, func(b []byte) error {
		_, _, err := decodeSession(b)
		return err
	})
	whole(t, sampleObservations().encode(), func(b []byte) error {
		_, err := decodeObservations(b)
		return err
	})
	p := Pointer{Active: &Published{Directory: "01a233cc-a1f0-7bf1-9cfe-d594314cd7a2", Generation: strings.Repeat("0a", 32), Manifest: strings.Repeat("b1", 32)}}
	whole(t, p.encode(), func(b []byte) error {
		_, err := decodePointer(b)
		return err
	})
	whole(t, sampleManifest().encode(), func(b []byte) error {
		_, err := decodeManifest(b, false)
		return err
	})
}

func sampleObservations() observations {
	return observations{
		sightings:  map[record.Digest]Sighting{{1}: {Locator: "a"}, {2}: {Observation: []byte("x"), ModTime: 3}},
		absent:     map[string]uint32{"r1": 2, "r2": 0},
		deliveries: Deliveries{{"codex", "r1", 3}},
	}
}

func sampleManifest() *Manifest {
	m := &Manifest{
		Contract:   Contract(),
		Files:      []File{{Name: "text/000000000001.snp", Bytes: 12, Digest: [32]byte{9}}, {Name: "records/000004.sst", Bytes: 1 << 40}},
		Segments:   []Segment{{ID: 1, Docs: 5, Live: 4, Searchable: 3, Tokens: 99}},
		Routes:     []Route{{Identity: "i", Path: "/a <b> & c", Absent: 2}},
		Roots:      []Root{{Provider: "codex", Name: "work", Identity: "named_v1"}},
		Providers:  []string{"codex"},
		Deliveries: Deliveries{{"codex", "i", 3}},
	}
	m.Generation = m.identity()
	return m
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	id := sampleManifest().identity()
	for name, change := range map[string]func(*Manifest){
		"files":      func(m *Manifest) { m.Files = nil },
		"segments":   func(m *Manifest) { m.Segments = nil },
		"numbers":    func(m *Manifest) { m.Next.Session = 8 },
		"deliveries": func(m *Manifest) { m.Deliveries.count("codex", "r", 1) },
		"absences":   func(m *Manifest) { m.Routes[0].Absent = 1 },
		"providers":  func(m *Manifest) { m.Providers = append(m.Providers, "x") },
	} {
		m := sampleManifest()
		if change(m); m.identity() != id {
			t.Errorf("the id depends on %s", name)
		}
	}
	for name, change := range map[string]func(*Manifest){
		"contract":     func(m *Manifest) { m.Contract = "" },
		"counts":       func(m *Manifest) { m.Stats.Rejected++ },
		"certificates": func(m *Manifest) { m.Certificates = "x" },
		"sessions":     func(m *Manifest) { m.Sessions = "x" },
		"tombstones":   func(m *Manifest) { m.Tombstones = "x" },
		"config":       func(m *Manifest) { m.Config = "x" },
		"routes":       func(m *Manifest) { m.Routes[0].Path = "/b" },
		"roots":        func(m *Manifest) { m.Roots[0].Group = "g" },
	} {
		m := sampleManifest()
		if change(m); m.identity() == id {
			t.Errorf("the id does not depend on %s", name)
		}
	}
}

func TestFileEntries(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a", "a 1", "a 1 x", "a -1 " + strings.Repeat("A", 43), "../a 1 " + strings.Repeat("A", 43), "/a 1 " + strings.Repeat("A", 43), "a 1 " + strings.Repeat("A", 42)} {
		if new(File).UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func FuzzCertificate(f *testing.F) {
	c := sampleCertificate()
	f.Add(c.encode())
	c.Forgotten, c.Yields = nil, nil
	f.Add(c.encode())
	f.Add([]byte{certificateVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Certificate
		if c.decode(b) == nil && !bytes.Equal(c.encode(), b) {
			t.Fatalf("%x is read and written as %x", b, c.encode())
		}
	})
}

func FuzzObservations(f *testing.F) {
	f.Add(sampleObservations().encode())
	f.Add([]byte(observationMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := decodeObservations(b)
		if err == nil && !bytes.Equal(o.encode(), b) {
			t.Fatalf("%x is read and written as %x", b, o.encode())
		}
	})
}

func FuzzPointer(f *testing.F) {
	f.Add(Pointer{Active: &Published{Directory: "01a233cc-a1f0-7bf1-9cfe-d594314cd7a2", Generation: strings.Repeat("0a", 32), Manifest: strings.Repeat("b1", 32)}}.encode())
	f.Add([]byte(`{"schema_version":1,"active":null,"previous":null}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePointer(b)
		if err == nil && !bytes.Equal(p.encode(), b) {
			t.Fatalf("%q is accepted", b)
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add(sampleManifest().encode())
	f.Add([]byte(`{"schema_version":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeManifest(b, false)
		if err == nil && !bytes.Equal(m.encode(), b) {
			t.Fatalf("%q is accepted", b)
		}
	})
}

func FuzzSessionRow(f *testing.F) {
	s := numbered("one", 1, 1)
	f.Add(encodeSession(s.record(s.sessions[0]), SessionStats{Events: 3}))
	f.Add([]byte{sessionRowVersion, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, stats, err := decodeSession(b); err == nil && !bytes.Equal(encodeSession(r, stats), b) {
			t.Fatalf("%x is read and written as %x", b, encodeSession(r, stats))
		}
	})
}
