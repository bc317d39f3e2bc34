package core

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/record"
)

// archive is a store under test with the sources that tests write into it.
type archive struct {
	t testing.TB
	*Store
}

func newArchive(t testing.TB) *archive { return newArchiveWith(t, Options{}) }

func newArchiveWith(t testing.TB, opt Options) *archive {
	return &archive{t: t, Store: Open(filepath.Join(t.TempDir(), "core"), opt)}
}

func (a *archive) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(describe(err))
	}
}

// source is a provider file as a test imagines it.
type source struct {
	name     string
	sessions []session
	revision string // parser
	frontier string
	state    State
	forged   map[string]record.Digest // ids of events by key, in place of those that follow from the keys
}

type session struct {
	name   string
	title  string
	parent string // name of a session in the same source
	events []event
}

type event struct {
	key      string
	sequence uint64
	suborder uint32
	time     int64 // 0 = untimed
	text     string
	typ      string
	excluded bool
	copyOf   string // "session/key" in a source called ancestor
	files    []string
}

// nativeID encodes the native key of a text.
func nativeID(namespace, text string) []byte {
	b := binary.BigEndian.AppendUint64([]byte{1}, uint64(len(namespace)))
	b = append(b, namespace...)
	b = binary.BigEndian.AppendUint64(append(b, 2), uint64(len(text)))
	return append(b, text...)
}

const testProvider = "testprovider"

func (s source) spec() SourceSpec {
	spec := SourceSpec{Provider: testProvider, Format: "test_jsonl", Variant: "v1", IdentityVersion: 1}
	spec.Anchor = nativeID("test.source", s.name)
	spec.Source = record.SourceID(spec.Provider, spec.Anchor)
	spec.Descriptor = record.DescriptorDigest(spec.Provider, spec.Format, spec.Variant, spec.IdentityVersion, spec.Source)
	return spec
}

func (s source) id() record.Digest { return s.spec().Source }

func (s source) sessionID(name string) record.Digest {
	return record.SessionID(s.id(), "test-session", nativeID("test.session", name))
}

func (s source) eventID(session, key string) record.Digest {
	return record.EventID(s.id(), s.sessionID(session), "test-event", nativeID("test.event", key), nil)
}

func (s source) record(ss session) *record.Session {
	spec := s.spec()
	r := &record.Session{
		ID: s.sessionID(ss.name), Source: spec.Source, Descriptor: spec.Descriptor,
		Provider: spec.Provider, SourceFormat: spec.Format, SchemaVariant: spec.Variant, IdentityVersion: spec.IdentityVersion,
		Anchor: spec.Anchor, Kind: "test-session", Key: nativeID("test.session", ss.name),
		ProviderSessionID: "native-" + ss.name, ParserRevision: s.parser(), Meta: record.SessionMeta{Title: ss.title, CWD: ss.title},
	}
	if ss.parent != "" {
		id := s.sessionID(ss.parent)
		r.Parent = &id
	}
	return r
}

func (s source) parser() string {
	if s.revision == "" {
		return "test-1"
	}
	return s.revision
}

func (s source) event(ss session, ev event, r *record.Session, e *record.Event) error {
	e.Reset()
	e.ID = s.eventID(ss.name, ev.key)
	if id, ok := s.forged[ev.key]; ok {
		e.ID = id
	}
	e.Session = r.Ordinal
	e.Sequence, e.Suborder = ev.sequence, ev.suborder
	e.OccurredAt, e.Timed = ev.time, ev.time != 0
	e.Type, e.Role = ev.typ, record.User
	if e.Type == "" {
		e.Type = record.Message
	}
	e.Excluded = ev.excluded
	e.HasBody, e.Body = true, record.Value{Inline: []byte(ev.text)}
	if ev.copyOf != "" {
		name, key := filepath.Split(ev.copyOf)
		from := source{name: "ancestor"}
		e.Copy = &record.Copy{Session: from.sessionID(filepath.Clean(name)), Event: from.eventID(filepath.Clean(name), key), Proof: record.ProofNativeEventIdentity}
	}
	if len(ev.files) > 0 {
		e.Activity = &record.Activity{}
		for _, f := range ev.files {
			e.Activity.Facts = append(e.Activity.Facts, record.Fact{Kind: record.FactFile, Value: []byte(f)})
		}
	}
	return record.Admit(e, r)
}

// certificate is what a provider would certify after reading the whole source.
func (s source) certificate() Certificate {
	var n uint64
	h := sha256.New()
	for _, ss := range s.sessions {
		n += uint64(len(ss.events))
		fmt.Fprintf(h, "%+v", ss)
	}
	c := Certificate{SourceSpec: s.spec(), State: s.state, ParserRevision: s.parser(), CertifiedBytes: 1000 * n, ContentDigest: [32]byte(h.Sum(nil))}
	c.Counts = Counts{Complete: n, Retained: n}
	c.Sighting = Sighting{Route: "r", Locator: s.name + ".jsonl", Observation: []byte("seen once")}
	return c
}

// feed sends the events of the source, in batches of 7.
func (s source) feed(w *SourceWriter) error {
	for _, ss := range s.sessions {
		r := s.record(ss)
		if _, err := w.Session(r); err != nil {
			return err
		}
		for i := 0; i < len(ss.events); i += 7 {
			part := ss.events[i:min(i+7, len(ss.events))]
			err := w.AddBatch(len(part)*100, func(emit func(*record.Event) error) error {
				var e record.Event
				for _, ev := range part {
					if err := s.event(ss, ev, r, &e); err != nil {
						return err
					}
					if err := emit(&e); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return w.Wait()
}

func (a *archive) replace(c *Candidate, s source) *SourceWriter {
	a.t.Helper()
	w, err := c.Replace(s.spec())
	a.must(err)
	a.must(s.feed(w))
	a.must(w.Finish(s.certificate(), []byte(s.frontier)))
	return w
}

// appendTo sends added; whole is the source afterwards.
func (a *archive) appendTo(c *Candidate, added, whole source) *SourceWriter {
	a.t.Helper()
	w, err := c.Append(added.spec())
	a.must(err)
	a.must(added.feed(w))
	a.must(w.Finish(whole.certificate(), []byte(whole.frontier)))
	return w
}

// refresh runs change on a new candidate and publishes it.
func (a *archive) refresh(change func(c *Candidate)) Publication {
	a.t.Helper()
	c, err := a.Begin(context.Background(), BeginOptions{})
	a.must(err)
	change(c)
	p, err := c.Publish(context.Background(), PublishOptions{})
	a.must(err)
	return p
}

func (a *archive) publish(sources ...source) Publication {
	a.t.Helper()
	return a.refresh(func(c *Candidate) {
		for _, s := range sources {
			a.replace(c, s)
		}
	})
}

func (a *archive) pin() *Generation {
	a.t.Helper()
	g, err := a.Pin(context.Background())
	a.must(err)
	a.t.Cleanup(func() { g.Close() })
	return g
}

// verify runs the deep check and fails on every problem.
func (a *archive) verify() {
	a.t.Helper()
	r, err := a.Verify(context.Background(), true, nil)
	a.must(err)
	for _, c := range r.Checks {
		for _, p := range c.Problems {
			a.t.Errorf("%s: %s", c.Name, p)
		}
	}
	if len(r.Checks) < 8 {
		a.t.Errorf("only %d checks ran", len(r.Checks))
	}
}

// texts returns the bodies of a walk.
func (a *archive) texts(g *Generation, it *DocIter) []string {
	a.t.Helper()
	defer it.Close()
	var out []string
	for it.Next() {
		out = append(out, a.text(g, it.Doc()))
	}
	a.must(it.Err())
	return out
}

func (a *archive) text(g *Generation, d lexical.Doc) string {
	a.t.Helper()
	var e record.Event
	a.must(g.Event(d, &e))
	return string(e.AppendBody(nil))
}

// all returns the bodies of all events in range order.
func (a *archive) all(g *Generation) []string {
	a.t.Helper()
	return a.texts(g, g.Range(nil, nil, false))
}

// numbered returns a source with sessions of n events each.
func numbered(name string, sessions, n int) source {
	s := source{name: name}
	for i := range sessions {
		ss := session{name: fmt.Sprintf("%s-s%d", name, i), title: fmt.Sprintf("title %d", i)}
		ss.events = span(fmt.Sprintf("%s.%d", name, i), 0, n)
		s.sessions = append(s.sessions, ss)
	}
	return s
}

func span(label string, from, to int) []event {
	var out []event
	for j := from; j < to; j++ {
		out = append(out, event{key: fmt.Sprint(j), sequence: uint64(j), time: 1_700_000_000_000 + int64(j)*1000, text: fmt.Sprintf("%s event %d", label, j)})
	}
	return out
}

func describe(err error) string {
	type detailed interface{ Detail() string }
	if d, ok := err.(detailed); ok {
		return d.Detail()
	}
	return err.Error()
}

// files lists everything below a directory with sizes and times, to see whether something was touched.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if !info.IsDir() {
			out[path] = fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
