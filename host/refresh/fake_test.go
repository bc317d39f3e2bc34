package refresh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// The provider of these tests keeps files of lines below ~/.claude/projects, in memory. The name of a file without its extension
// is the session; a line "key text" is a message, "!text" is a rejected record, "#text" an ignored one, "?id" the call of
// `ctx search falcon` and "=id" its successful result. The observation is a digest of content and time.

// fakeFile is one history in memory.
type fakeFile struct {
	lines []string
	mtime int64
}

func (f *fakeFile) content() []byte {
	return []byte(strings.Join(append(slices.Clone(f.lines), ""), "\n"))
}

// fakeProvider serves fake files and counts what it was asked.
type fakeProvider struct {
	home string

	mu        sync.Mutex
	id        string
	revision  string
	files     map[string]*fakeFile // by absolute path
	broken    map[string]string    // session -> class of failure
	hostile   func(m *historyv1.ScanMessage) *historyv1.ScanMessage
	inventory func(s *historyv1.Source) // changes a source before it is sent
	blocked   chan struct{}             // scans wait here
	poison    map[string]bool           // sessions that end the process while they are read
	state     historyv1.RouteEnd_State  // of every route; unspecified = as it is

	started  int
	blind    bool // it cannot look at single files
	listed   int
	given    int      // sources of all inventories
	asked    []string // every session that was to be read
	opened   []string // "full a", "append b@12"
	fetched  int      // lines parsed
	onOpened func()
}

func (p *fakeProvider) Names() []string { return []string{"claude"} }

func (p *fakeProvider) Start(context.Context, string) (Plugin, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
	return p, nil
}

func (p *fakeProvider) Close() {}

func (p *fakeProvider) Descriptor() *historyv1.DescribeResponse {
	location := func(suffix string, mode historyv1.Location_Mode) *historyv1.Location {
		return &historyv1.Location{
			Base: historyv1.Base_BASE_HOME, Suffix: suffix, Format: "fake_tree", Role: "claude-projects", Mode: mode,
			PathKind: historyv1.PathKind_PATH_KIND_DIRECTORY,
		}
	}
	return &historyv1.DescribeResponse{
		Id: "claude", CliName: "claude", DisplayName: "Claude Code", ParserRevision: p.revision,
		Formats: []*historyv1.Format{{Name: "fake_tree", Leaf: "fake", SchemaVariant: "v", IdentityVersion: 1}},
		Root: &historyv1.RootCapability{PathKind: historyv1.PathKind_PATH_KIND_DIRECTORY, Children: []*historyv1.RootChild{
			{Suffix: "projects", Format: "fake_tree", Role: "claude-projects", PathKind: historyv1.PathKind_PATH_KIND_DIRECTORY},
		}},
		Locations: []*historyv1.Location{
			location(".claude/projects", historyv1.Location_MODE_DEFAULT),
			location(".config/claude/projects", historyv1.Location_MODE_BESIDE),
		},
		ExactPaths: []*historyv1.PathRule{{NameGlob: "*", PathKind: historyv1.PathKind_PATH_KIND_DIRECTORY, Format: "fake_tree"}},
	}
}

func (p *fakeProvider) Inventory(_ context.Context, req *historyv1.InventoryRequest, each func(*historyv1.Source) error) (*historyv1.InventoryEnd, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed++
	end := &historyv1.InventoryEnd{Complete: true}
	changed := map[string]bool{}
	for _, c := range req.GetChanged() {
		path := sourcePath(req.GetRoutes()[c.GetRoute()].GetPath(), c.GetLocator())
		changed[path] = p.files[path] != nil
	}
	end.Limited = len(changed) > 0 && !p.blind && !slices.Contains(slices.Collect(maps.Values(changed)), false)
	end.Complete = !end.Limited
	for n, route := range req.GetRoutes() {
		state := p.state
		if end.Limited {
			state = historyv1.RouteEnd_STATE_INCOMPLETE
		}
		if state == historyv1.RouteEnd_STATE_UNSPECIFIED {
			state = historyv1.RouteEnd_STATE_COMPLETE
		}
		end.Routes = append(end.Routes, &historyv1.RouteEnd{State: state})
		for _, path := range p.below(route.GetPath()) {
			f := p.files[path]
			if end.Limited && !changed[path] {
				continue
			}
			p.given++
			rel, _ := filepath.Rel(route.GetPath(), path)
			session := strings.TrimSuffix(filepath.Base(path), ".txt")
			sum := sha256.Sum256(append(f.content(), strconv.FormatInt(f.mtime, 10)...))
			s := &historyv1.Source{
				Anchor: sdkplugin.NativeAnchor("fake.session", sdkplugin.Utf8(session)), Format: "fake", Locator: filepath.ToSlash(rel),
				Observation: sum[:], Size: uint64(len(f.content())), MtimeNs: f.mtime, Route: uint32(n), ProviderSessionId: session,
			}
			if p.inventory != nil {
				p.inventory(s)
			}
			if err := each(s); err != nil {
				return nil, err
			}
		}
	}
	return end, nil
}

func (p *fakeProvider) below(dir string) []string {
	var paths []string
	for path := range p.files {
		if strings.HasPrefix(path, dir+string(filepath.Separator)) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

func (p *fakeProvider) Scan(ctx context.Context, next func() (*historyv1.ScanSource, bool), on func(*historyv1.ScanMessage) error) error {
	for {
		req, ok := next()
		if !ok {
			return nil
		}
		if p.onOpened != nil {
			p.onOpened()
		}
		if p.blocked != nil {
			select {
			case <-p.blocked:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		messages := p.read(req)
		if p.poison[req.GetSource().GetProviderSessionId()] {
			_ = on(messages[0])
			return errors.New("the process died")
		}
		for _, m := range messages {
			if p.hostile != nil {
				if m = p.hostile(m); m == nil {
					continue
				}
			}
			if err := on(m); err != nil {
				return err
			}
		}
	}
}

// read gives all messages of one source.
func (p *fakeProvider) read(req *historyv1.ScanSource) []*historyv1.ScanMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, session := req.GetOrdinal(), req.GetSource().GetProviderSessionId()
	p.asked = append(p.asked, session)
	if class := p.broken[session]; class != "" {
		return []*historyv1.ScanMessage{{Message: &historyv1.ScanMessage_Failure{Failure: &historyv1.SourceFailure{Source: n, Class: class, Message: "told"}}}}
	}
	f := p.files[sourcePath(req.GetRoutePath(), req.GetSource().GetLocator())]
	if f == nil {
		return []*historyv1.ScanMessage{{Message: &historyv1.ScanMessage_Failure{Failure: &historyv1.SourceFailure{Source: n, Class: classVanished}}}}
	}
	content, mode, from := f.content(), historyv1.Mode_MODE_FULL, 0
	counts := &historyv1.Counts{}
	if req.GetMode() == historyv1.Mode_MODE_APPEND {
		from = int(req.GetCertifiedBytes())
		if sum := sha256.Sum256(content[:from]); bytes.Equal(sum[:], req.GetContentDigest()) && strings.TrimSpace(string(req.GetFrontier())) == strconv.Itoa(from) {
			mode, counts = historyv1.Mode_MODE_APPEND, req.GetCounts()
		} else {
			from = 0
		}
	}
	if mode == historyv1.Mode_MODE_APPEND {
		p.opened = append(p.opened, fmt.Sprintf("append %s@%d", session, from))
	} else {
		p.opened = append(p.opened, "full "+session)
	}
	begin := &historyv1.ScanMessage{Message: &historyv1.ScanMessage_Begin{Begin: &historyv1.SourceBegin{Source: n, Mode: mode}}}
	ref := &historyv1.SessionRef{Kind: "fake-session", Key: sdkplugin.NativeID("fake.session", sdkplugin.Utf8(session))}
	batch := &historyv1.Batch{Source: n, ReadBytes: uint64(len(content) - from), Sessions: []*historyv1.Session{{
		Index: 0, Ref: ref, ProviderSessionId: session, Relationship: historyv1.Relationship_RELATIONSHIP_ROOT, Scope: historyv1.Scope_SCOPE_PRIMARY,
	}}}
	rejected := p.parse(batch, string(content[from:]), bytes.Count(content[:from], []byte("\n")), counts)
	sum := sha256.Sum256(content)
	end := &historyv1.ScanMessage{Message: &historyv1.ScanMessage_End{End: &historyv1.SourceEnd{
		Source: n, Observation: req.GetSource().GetObservation(), CertifiedBytes: uint64(len(content)), ContentDigest: sum[:],
		Frontier: []byte(strconv.Itoa(len(content))), Counts: counts, RejectionsTotal: rejected,
		Metadata: []*historyv1.SessionMetadata{{Index: 0, Title: "about " + session}},
	}}}
	return []*historyv1.ScanMessage{begin, {Message: &historyv1.ScanMessage_Batch{Batch: batch}}, end}
}

func (p *fakeProvider) parse(batch *historyv1.Batch, text string, before int, counts *historyv1.Counts) (rejected uint64) {
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" {
			continue
		}
		p.fetched++
		counts.Complete++
		switch line[0] {
		case '!':
			counts.Rejected++
			rejected++
			batch.Rejections = append(batch.Rejections, &historyv1.Rejection{Line: uint64(before + i + 1), Class: "damaged", Detail: "torn"})
		case '#':
			counts.Ignored++
		case '?', '=':
			counts.Retained++
			batch.Events = append(batch.Events, retrieval(line, uint64(before+i)))
		default:
			counts.Retained++
			key, body, _ := strings.Cut(line, " ")
			batch.Events = append(batch.Events, &historyv1.Event{
				Key: sdkplugin.NativeID("fake.event", sdkplugin.Utf8(key)), Kind: "fake-event", Sequence: uint64(before + i),
				Type: "message", Role: "user", Body: &historyv1.Value{Inline: []byte(body)},
			})
		}
	}
	return rejected
}

// retrieval is a call of ctx by the agent, or its result as a successful run shows it.
func retrieval(line string, sequence uint64) *historyv1.Event {
	id, present := line[1:], historyv1.Capture_STATUS_PRESENT
	e := &historyv1.Event{
		Key: sdkplugin.NativeID("fake.event", sdkplugin.Utf8(line+strconv.FormatUint(sequence, 10))), Kind: "fake-event", Sequence: sequence,
		CallId: sdkplugin.Utf8(id), Role: "tool",
	}
	if line[0] == '?' {
		e.Type, e.Structured = "tool_call", []byte(`{"cmd":"ctx search falcon"}`)
		e.Body = &historyv1.Value{Inline: []byte("call")}
		whole := &historyv1.Value{Spans: []*historyv1.Span{{Length: uint32(len(e.Structured))}}}
		e.Invocation = &historyv1.Invocation{Tool: "exec_command", Arguments: &historyv1.Capture{Status: present, Value: whole}}
		return e
	}
	output := `"Chunk ID: ab12cd\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 5\nOutput:\nfound\n"`
	head := `{"call_id":"` + id + `","output":`
	e.Type, e.Structured = "tool_output", []byte(head+output+`,"type":"function_call_output"}`)
	text := &historyv1.Value{Spans: []*historyv1.Span{{Offset: uint32(len(head)), Length: uint32(len(output)), Quoted: true}}}
	e.Body = text
	e.Result = &historyv1.Result{Status: "success", Text: &historyv1.Capture{Status: present, Value: text}}
	return e
}

// world is a home with a fake provider and a store.
type world struct {
	known      Known // between limited runs
	t          *testing.T
	home, data string
	provider   *fakeProvider
	config     string
	store      *core.Store
	wrote      int // bytes written and steps taken by the store
	clock      int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return buildWorld(t)
}

func buildWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: filepath.Join(dir, "home"), data: filepath.Join(dir, "data"), clock: 1000}
	w.provider = &fakeProvider{home: w.home, revision: "r1", files: map[string]*fakeFile{}, broken: map[string]string{}}
	w.mkdir(w.home)
	w.mkdir(w.data)
	var mu sync.Mutex
	count := func(n int) error {
		mu.Lock()
		defer mu.Unlock()
		w.wrote += n
		return nil
	}
	w.store = core.Open(filepath.Join(w.data, "core"), core.Options{Step: func(string) error { return count(1) }, Write: count})
	return w
}

func (w *world) mkdir(path string) {
	w.t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// path of a history; place is below the home, for example ".claude/projects/p/a".
func (w *world) path(place string) string {
	return filepath.Join(w.home, filepath.FromSlash(place)) + ".txt"
}

// put sets the lines of a history. A real file of the same place makes the route exist.
func (w *world) put(place string, lines ...string) {
	w.t.Helper()
	w.clock++
	w.provider.files[w.path(place)] = &fakeFile{lines: lines, mtime: w.clock}
	w.mkdir(filepath.Dir(w.path(place)))
	err := os.WriteFile(w.path(place), []byte(strings.Join(lines, "\n")), 0o600)
	if err == nil {
		err = os.Chtimes(w.path(place), time.Time{}, time.Unix(0, w.clock))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) add(place string, lines ...string) {
	f := w.provider.files[w.path(place)]
	w.clock++
	f.lines, f.mtime = append(f.lines, lines...), w.clock
}

func (w *world) remove(place string) {
	delete(w.provider.files, w.path(place))
	os.Remove(w.path(place))
}

// named is the configuration of a named root.
func (w *world) named(name, place string) string {
	return "[sources.roots." + name + "]\nprovider = \"claude\"\npath = \"" + filepath.ToSlash(filepath.Join(w.home, place)) + "\"\n"
}

func (w *world) request() Request {
	w.t.Helper()
	env := config.NewEnvironment(config.Linux, w.home, w.home, os.Geteuid(), func(string) (string, bool) { return "", false })
	c, err := config.Parse(w.data, []byte(w.config), env)
	if err != nil {
		w.t.Fatal(err)
	}
	return Request{Config: c, Store: w.store, Plugins: w.provider, All: true, Workers: 2}
}

func (w *world) run() *Report {
	w.t.Helper()
	return w.runRequest(w.request())
}

// progress runs a refresh and returns the last event of its progress.
func (w *world) progress() (last Progress) {
	req := w.request()
	req.Progress = func(p Progress) { last = p }
	w.runRequest(req)
	return last
}

func (w *world) runRequest(req Request) *Report {
	w.t.Helper()
	w.provider.asked, w.provider.opened, w.provider.fetched, w.wrote = nil, nil, 0, 0
	rep, err := Run(context.Background(), req)
	if err != nil {
		w.t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	return rep
}

// opened compares what the provider was asked to read.
func (w *world) opened(want ...string) {
	w.t.Helper()
	slices.Sort(w.provider.opened)
	if !slices.Equal(w.provider.opened, want) {
		w.t.Errorf("read %q, want %q", w.provider.opened, want)
	}
}

// stored lists "session state: bodies" of the active generation.
func (w *world) stored() []string {
	w.t.Helper()
	g, err := w.store.Pin(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	defer g.Close()
	var out []string
	err = g.Sessions(func(s *record.Session, _ core.SessionStats) error {
		cert, err := g.Certificate(s.Source)
		if err != nil {
			return err
		}
		line := s.ProviderSessionID + " " + cert.State.String() + ":"
		it := g.SessionEvents(s.Ordinal, nil, false)
		defer it.Close()
		for it.Next() {
			var e record.Event
			if err := g.Event(it.Doc(), &e); err != nil {
				return err
			}
			line += " " + string(e.AppendBody(nil))
		}
		out = append(out, line)
		return it.Err()
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func (w *world) expect(want ...string) {
	w.t.Helper()
	if got := w.stored(); !slices.Equal(got, want) {
		w.t.Errorf("stored %q, want %q", got, want)
	}
}

// excluded counts the events of the active generation that search leaves out, and all events.
func (w *world) excluded() (excluded, all int) {
	w.t.Helper()
	g, err := w.store.Pin(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	defer g.Close()
	it := g.Range(nil, nil, false)
	defer it.Close()
	for it.Next() {
		var e record.Event
		if err := g.Event(it.Doc(), &e); err != nil {
			w.t.Fatal(err)
		}
		all++
		if e.Excluded {
			excluded++
		}
	}
	if it.Err() != nil {
		w.t.Fatal(it.Err())
	}
	return excluded, all
}

// certificate returns what is stored of a session's source.
func (w *world) certificate(session string) *core.Certificate {
	w.t.Helper()
	g, err := w.store.Pin(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	defer g.Close()
	c, err := g.Certificate(record.SourceID("claude", sdkplugin.NativeAnchor("fake.session", sdkplugin.Utf8(session))))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}
