package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Config says what to check.
type Config struct {
	Command []string // executable and arguments of the provider
	Env     []string // further variables, NAME=value
	Fixture Fixture  // nil: only the checks that need none
	Sample  *Sample  // real history to look at; nil = none
	// Sources is the size of the many_sources check; 0 = 10,000.
	Sources int
	// Only names the checks to run; empty = all. What they need runs as well.
	Only []string
	// Dir is where histories are written and removed again; empty = a new
	// temporary directory.
	Dir string
	// Report is called with every outcome as it comes; nil = not wanted.
	Report func(Outcome)
}

// Deadlines of the contract, as the host sets them.
const (
	startTimeout    = 5 * time.Second
	describeTimeout = 2 * time.Second
	callTimeout     = 2 * time.Minute
	exitTimeout     = 5 * time.Second
	cancelTimeout   = 100 * time.Millisecond
)

// kit is one run of the checks.
type kit struct {
	cfg       Config
	dir       string
	dirs      int
	sockets   string
	shared    *process
	described *historyv1.DescribeResponse
	lines     LineFixture // nil when the fixture has no files of lines
}

// check is one promise.
type check struct {
	name  string
	about string
	needs need
	run   func(*kit, context.Context) (detail string, err error)
}

// need says what a check cannot do without.
type need uint8

const (
	nothing need = iota
	description
	fixture
	lineFixture
	sample
)

// notRun is the error of a check that found out that it cannot run here.
type notRun struct{ why string }

func (n notRun) Error() string { return n.why }

// Check runs all checks. It returns early, with the rest not run, when ctx is
// done.
func Check(ctx context.Context, cfg Config) Report {
	if cfg.Sources == 0 {
		cfg.Sources = 10000
	}
	k := &kit{cfg: cfg, dir: cfg.Dir}
	k.lines, _ = cfg.Fixture.(LineFixture)
	defer func() { k.shared.stop() }()
	var report Report
	// A provider that crashes, as some do under these checks, cannot remove
	// the directory of its socket.
	if dir, err := os.MkdirTemp("", "ctx-k-"); err == nil {
		k.sockets = dir
		defer os.RemoveAll(dir)
	}
	if k.dir == "" {
		dir, err := os.MkdirTemp("", "ctx-conformance-")
		if err != nil {
			return Report{Checks: []Outcome{{Name: "workspace", About: "a temporary directory", Status: Failed, Detail: err.Error()}}}
		}
		k.dir = dir
		defer removeAll(dir)
	}
	// Links of the temporary directory itself would make every path one
	// below a link.
	if dir, err := filepath.EvalSymlinks(k.dir); err == nil {
		k.dir = dir
	}
	for _, c := range checks {
		if !k.wanted(c) {
			continue
		}
		outcome := k.outcome(ctx, c)
		report.Checks = append(report.Checks, outcome)
		if cfg.Report != nil {
			cfg.Report(outcome)
		}
	}
	report.Provider = k.described
	return report
}

func (k *kit) wanted(c check) bool {
	return len(k.cfg.Only) == 0 || c.name == "describe" || slices.Contains(k.cfg.Only, c.name)
}

// Names returns the names of all checks in their order.
func Names() []string {
	names := make([]string, len(checks))
	for i, c := range checks {
		names[i] = c.name
	}
	return names
}

func (k *kit) outcome(ctx context.Context, c check) Outcome {
	o := Outcome{Name: c.name, About: c.about, Status: NotRun}
	if o.Detail = k.missing(ctx, c); o.Detail != "" {
		return o
	}
	began := time.Now()
	detail, err := c.run(k, ctx)
	o.Duration = time.Since(began)
	var skip notRun
	switch {
	case errors.As(err, &skip):
		o.Detail = skip.why
	case err != nil:
		o.Status, o.Detail = Failed, err.Error()
	default:
		o.Status, o.Passed, o.Detail = Passed, true, detail
	}
	return o
}

// missing says why a check cannot run; "" = it can.
func (k *kit) missing(ctx context.Context, c check) string {
	switch {
	case ctx.Err() != nil:
		return "the run was cancelled"
	case len(k.cfg.Command) == 0:
		return "no command was given"
	case c.needs >= description && k.described == nil:
		return "the provider does not describe itself"
	case c.needs == sample && k.cfg.Sample == nil:
		return "needs a folder of real history"
	case (c.needs == fixture || c.needs == lineFixture) && k.cfg.Fixture == nil:
		return "needs a fixture that writes histories of this provider"
	case c.needs == lineFixture && k.lines == nil:
		return "needs a fixture of files with one record a line"
	}
	return ""
}

// workspace is a new empty directory.
func (k *kit) workspace() (string, error) {
	k.dirs++
	dir := filepath.Join(k.dir, fmt.Sprintf("w%02d", k.dirs))
	return dir, os.MkdirAll(dir, 0o700)
}

// route is the fixture's route at a path, or, without a fixture, the first
// that the provider declares.
func (k *kit) route(path string) *historyv1.Route {
	var format, role string
	if k.cfg.Fixture != nil {
		format, role = k.cfg.Fixture.Route()
	} else {
		format = k.described.Formats[0].Name
		for _, l := range k.described.Locations {
			if l.Format == format {
				role = l.Role
				break
			}
		}
	}
	lineage := make([]byte, 32)
	for i := range lineage {
		lineage[i] = byte(i)
	}
	return &historyv1.Route{Id: "conformance", Path: path, Format: format, Role: role, Lineage: lineage}
}

// history writes sessions into a new directory and returns its route.
func (k *kit) history(sessions, records int) (*historyv1.Route, error) {
	dir, err := k.workspace()
	if err != nil {
		return nil, err
	}
	if err := k.cfg.Fixture.Write(dir, 0, sessions, records); err != nil {
		return nil, fmt.Errorf("the fixture cannot write: %w", err)
	}
	return k.route(dir), nil
}

// listed is history and its inventory.
func (k *kit) listed(ctx context.Context, sessions, records int) (*process, *historyv1.Route, *inventory, error) {
	p, err := k.live()
	if err != nil {
		return nil, nil, nil, err
	}
	route, err := k.history(sessions, records)
	if err != nil {
		return nil, nil, nil, err
	}
	inv, err := p.inventory(ctx, route)
	return p, route, inv, err
}

// scanAll scans every source of an inventory in mode full, and none may fail.
func (p *process) scanAll(ctx context.Context, route *historyv1.Route, inv *inventory) ([]*transcript, error) {
	jobs := make([]scanJob, len(inv.sources))
	for i, s := range inv.sources {
		jobs[i].source = s
	}
	out, err := p.scan(ctx, route, jobs...)
	if err != nil {
		return nil, err
	}
	for _, t := range out {
		if err := t.succeeded(historyv1.Mode_MODE_FULL); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *transcript) succeeded(mode historyv1.Mode) error {
	switch {
	case t.failure != nil:
		return fmt.Errorf("%q failed: %s: %s", t.source.Locator, t.failure.Class, t.failure.Message)
	case t.begin.GetMode() != mode:
		return fmt.Errorf("%q was read in %v, want %v", t.source.Locator, t.begin.GetMode(), mode)
	}
	return nil
}

// removeAll also removes what a check made unreadable.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
