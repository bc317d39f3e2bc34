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
	// Dir is where histories are written and removed again; empty = a new temporary directory.
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
	ctx       context.Context
	dir       string
	dirs      int
	sockets   string
	shared    *process
	described *historyv1.DescribeResponse
	lines     LineFixture // nil when the fixture has no files of lines
}

// check is one promise. run returns what was measured; it ends early by failf, skipf or must.
type check struct {
	name  string
	about string
	needs need
	run   func(*kit) (detail string)
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

// verdict is what ends a check early, as FailNow ends a test: dozens of steps that each may fail would hide what a check does.
type verdict struct {
	status Status
	detail string
}

func failf(format string, args ...any) { panic(verdict{Failed, fmt.Sprintf(format, args...)}) }
func skipf(format string, args ...any) { panic(verdict{NotRun, fmt.Sprintf(format, args...)}) }

// errNotHere is wrapped by errors that say what this system cannot do.
var errNotHere = errors.New("not possible here")

// try ends the check when err is an error.
func try(err error) {
	switch {
	case errors.Is(err, errNotHere):
		skipf("%v", err)
	case err != nil:
		failf("%v", err)
	}
}

// must is the value, or the end of the check.
func must[T any](value T, err error) T {
	try(err)
	return value
}

// Check runs all checks. It returns early, with the rest not run, when ctx is done.
func Check(ctx context.Context, cfg Config) Report {
	if cfg.Sources == 0 {
		cfg.Sources = 10000
	}
	k := &kit{cfg: cfg, ctx: ctx, dir: cfg.Dir}
	k.lines, _ = cfg.Fixture.(LineFixture)
	defer func() { k.shared.stop() }()
	var report Report
	// A provider that crashes, as some do under these checks, cannot remove the directory of its socket.
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
	// Links of the temporary directory itself would make every path one below a link.
	if dir, err := filepath.EvalSymlinks(k.dir); err == nil {
		k.dir = dir
	}
	for _, c := range checks {
		if len(cfg.Only) > 0 && c.name != "describe" && !slices.Contains(cfg.Only, c.name) {
			continue
		}
		outcome := k.outcome(c)
		report.Checks = append(report.Checks, outcome)
		if cfg.Report != nil {
			cfg.Report(outcome)
		}
	}
	report.Provider = k.described
	return report
}

// Names returns the names of all checks in their order.
func Names() []string {
	names := make([]string, len(checks))
	for i, c := range checks {
		names[i] = c.name
	}
	return names
}

func (k *kit) outcome(c check) (o Outcome) {
	o = Outcome{Name: c.name, About: c.about, Status: NotRun}
	if o.Detail = k.missing(c); o.Detail != "" {
		return o
	}
	began := time.Now()
	defer func() {
		o.Duration = time.Since(began)
		if v, early := recover().(verdict); early {
			o.Status, o.Detail = v.status, v.detail
		}
		o.Passed = o.Status == Passed
	}()
	o.Detail = c.run(k)
	o.Status = Passed
	return o
}

// missing says why a check cannot run; "" = it can.
func (k *kit) missing(c check) string {
	switch {
	case k.ctx.Err() != nil:
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
func (k *kit) workspace() string {
	k.dirs++
	dir := filepath.Join(k.dir, fmt.Sprintf("w%02d", k.dirs))
	try(os.MkdirAll(dir, 0o700))
	return dir
}

// location is the first place that the provider declares for its first format.
func (k *kit) location() *historyv1.Location {
	for _, l := range k.described.Locations {
		if l.Format == k.described.Formats[0].Name {
			return l
		}
	}
	return nil
}

// route is the fixture's route at a path, or, without a fixture, the first that the provider declares.
func (k *kit) route(path string) *historyv1.Route {
	format, role := k.described.Formats[0].Name, k.location().GetRole()
	if k.cfg.Fixture != nil {
		format, role = k.cfg.Fixture.Route()
	}
	lineage := make([]byte, 32)
	for i := range lineage {
		lineage[i] = byte(i)
	}
	return &historyv1.Route{Id: "conformance", Path: path, Format: format, Role: role, Lineage: lineage}
}

// history writes sessions into a new directory and returns its route.
func (k *kit) history(sessions, records int) *historyv1.Route {
	route := k.route(k.workspace())
	if err := k.cfg.Fixture.Write(route.Path, 0, sessions, records); err != nil {
		failf("the fixture cannot write: %v", err)
	}
	return route
}

// grow adds records to session 0, which has some already.
func (k *kit) grow(route *historyv1.Route, have, records int) {
	if err := k.cfg.Fixture.Append(route.Path, 0, have, records); err != nil {
		failf("the fixture cannot append: %v", err)
	}
}

// listed is history and its inventory.
func (k *kit) listed(sessions, records int) (*historyv1.Route, *inventory) {
	route := k.history(sessions, records)
	return route, k.live().inventory(k.ctx, route)
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

// checks in the order in which they run: what needs least comes first, what may kill the provider last.
var checks = []check{
	{"manual_start", "started by hand it says so and exits at once", nothing, (*kit).manualStart},
	{"handshake", "it starts and speaks the protocol within 5 s", nothing, (*kit).handshake},
	{"describe", "the description is complete, quick, and the same in every process", nothing, (*kit).describe},
	{"missing_route", "a route that does not exist is reported, never taken for an empty one", description, (*kit).missingRoute},
	{"empty_route", "an empty directory is a complete inventory without sources", description, (*kit).emptyRoute},
	{"missing_source", "a source that does not exist fails alone", description, (*kit).missingSource},
	{"cancelled_call", "a cancelled call leaves the provider usable", description, (*kit).cancelledCall},

	{"inventory_complete", "every session is listed, with valid keys, locators and tokens, in the same order each time", fixture, (*kit).inventoryComplete},
	{"scan_complete", "every record arrives, counted and certified", fixture, (*kit).scanComplete},
	{"events_valid", "keys, text, JSON, spans, sizes, order and references are valid", fixture, (*kit).eventsValid},
	{"scan_twice", "the same bytes give the same events, in any process", fixture, (*kit).scanTwice},
	{"append_equals_full", "reading on gives what a full read gives", fixture, (*kit).appendEqualsFull},
	{"observation_changes", "the observation changes when the source does, and only then", fixture, (*kit).observationChanges},
	{"changed_file", "asked about one file that changed, it gives what a list would, or lists everything", fixture, (*kit).changedFile},

	{"certified_digest", "the digest is the SHA-256 of the certified bytes", lineFixture, (*kit).certifiedDigest},
	{"torn_tail", "an unfinished record waits and is read once it is complete", lineFixture, (*kit).tornTail},
	{"damaged_record", "a damaged record is rejected and its neighbours are kept", lineFixture, (*kit).damagedRecord},
	{"long_line", "a record of 20 MiB is rejected and its neighbours are kept", lineFixture, (*kit).longLine},
	{"rewritten_prefix", "after a rewrite an append is answered with a full read", lineFixture, (*kit).rewrittenPrefix},
	{"vanished_file", "a file that is gone fails as vanished, alone", lineFixture, (*kit).vanishedFile},
	{"unreadable_file", "a file that cannot be read fails, alone", lineFixture, (*kit).unreadableFile},
	{"links_and_pipes", "links below the route are not followed, pipes are not opened", lineFixture, (*kit).linksAndPipes},
	{"cancelled_scan", "a cancelled scan stops within 100 ms", lineFixture, (*kit).cancelledScan},

	{"sample_scan", "what the sample lists and holds is valid, and the same when read twice", sample, (*kit).sampleScan},
	{"sample_append", "reading on in cut files of the sample gives what a full read gives", sample, (*kit).sampleAppend},

	{"many_sources", "thousands of sources are listed and read in one go", fixture, (*kit).manySources},
	{"host_gone", "it exits when its host goes away", nothing, (*kit).hostGone},
}
