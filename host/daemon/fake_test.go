package daemon

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// fakeProvider has one route, ~/.claude/projects, and no source below it: what counts here is when it is asked.
type fakeProvider struct {
	listed  atomic.Int64  // inventories that began
	blocked chan struct{} // an inventory waits here
	state   atomic.Int32  // of the route, 0 = complete

	describing chan struct{} // a description waits here

	mu    sync.Mutex
	roots []string // of every route that was listed, in order
}

func (p *fakeProvider) places() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.roots)
}

func (p *fakeProvider) Names() []string                                       { return []string{"claude"} }
func (p *fakeProvider) Start(context.Context, string) (refresh.Plugin, error) { return p, nil }
func (p *fakeProvider) Close()                                                {}
func (p *fakeProvider) Scan(context.Context, func() (*historyv1.ScanSource, bool), func(*historyv1.ScanMessage) error) error {
	return nil
}

func (p *fakeProvider) Describe(ctx context.Context, _ string) (*historyv1.DescribeResponse, error) {
	if p.describing != nil {
		select {
		case <-p.describing:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return p.Descriptor(), nil
}

func (p *fakeProvider) Resolve(context.Context, string, *historyv1.ResolveRequest) (*historyv1.ResolveResponse, error) {
	return &historyv1.ResolveResponse{}, nil
}

func (p *fakeProvider) Descriptor() *historyv1.DescribeResponse {
	directory := historyv1.PathKind_PATH_KIND_DIRECTORY
	return &historyv1.DescribeResponse{
		Id: "claude", CliName: "claude", DisplayName: "Claude Code", ParserRevision: "r1",
		Formats: []*historyv1.Format{{Name: "fake_tree", Leaf: "fake", SchemaVariant: "v", IdentityVersion: 1}},
		Locations: []*historyv1.Location{{
			Base: historyv1.Base_BASE_HOME, Suffix: ".claude/projects", Format: "fake_tree", Role: "claude-projects",
			Mode: historyv1.Location_MODE_DEFAULT, PathKind: directory,
		}},
		ExactPaths: []*historyv1.PathRule{{NameGlob: "*", PathKind: directory, Format: "fake_tree"}},
	}
}

func (p *fakeProvider) Inventory(ctx context.Context, req *historyv1.InventoryRequest, _ func(*historyv1.Source) error) (*historyv1.InventoryEnd, error) {
	p.listed.Add(1)
	select {
	case <-p.blocked:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	end := &historyv1.InventoryEnd{Complete: true}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range req.GetRoutes() {
		p.roots = append(p.roots, r.GetPath())
		end.Routes = append(end.Routes, &historyv1.RouteEnd{State: historyv1.RouteEnd_STATE_COMPLETE})
	}
	return end, nil
}

// world is a data root with what a daemon of it needs.
type world struct {
	*Control
	t          *testing.T
	home, root string
	provider   *fakeProvider
	options    Options
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	dir, err := os.MkdirTemp("", "ctxd") // a short path: it has to hold a socket
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{t: t, home: filepath.Join(dir, "h"), root: filepath.Join(dir, "d"), provider: &fakeProvider{blocked: make(chan struct{})}}
	close(w.provider.blocked)
	mkdir(t, w.home, ".claude", "projects")
	mkdir(t, w.root)
	env := config.NewEnvironment(config.Linux, w.home, w.home, os.Geteuid(), func(string) (string, bool) { return "", false })
	w.options = Options{
		DataRoot: w.root, Environment: env, Store: core.Open(filepath.Join(w.root, "core"), core.Options{}), Executable: os.Args[0],
		Plugins: func(*config.Config) Plugins { return w.provider }, Log: t.Logf,
	}
	w.Control = &Control{Executable: os.Args[0]}
	w.load()
	return w
}

func (w *world) load() {
	w.t.Helper()
	var err error
	if w.Control.Config, err = config.Load(w.root, w.options.Environment); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) configure(text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.root, config.FileName), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// start runs a daemon and waits until it has done its first look. ended gives its result.
func (w *world) start() (ended <-chan error, stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		over <- Run(ctx, w.options)
		close(over)
	}()
	w.t.Cleanup(func() {
		cancel()
		for range over { // until it has ended
		}
	})
	w.until("the first look", func() bool { h := w.health(); return h != nil && (h.Last != nil || h.Running != nil) })
	return over, cancel
}

func (w *world) health() *Health {
	h, err := w.Health(context.Background())
	if err != nil && fault.Code(err) != Unavailable {
		w.t.Fatal(err)
	}
	return h
}

func (w *world) until(what string, condition func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(generous); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s did not come: %+v", what, w.health())
		}
	}
}

func (w *world) idle() {
	w.t.Helper()
	w.until("rest", func() bool {
		h := w.health()
		return h != nil && h.Running == nil && h.Pending == 0 && len(h.Marked) == 0
	})
}

// ended waits for the end of a daemon.
func (w *world) ended(over <-chan error) error {
	w.t.Helper()
	select {
	case err := <-over:
		return err
	case <-time.After(generous):
		w.t.Fatal("the daemon does not end")
		return nil
	}
}

func (w *world) request(trigger string) Request {
	r := w.NewRequest(trigger)
	r.All = true
	return r
}
