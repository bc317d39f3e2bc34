package usage

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/config"
)

var noon = time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)

// root is a data root whose config has the given text.
func root(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, config.FileName), text)
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func recorder(dir string, now time.Time, variables ...string) *Recorder {
	env := config.NewEnvironment(config.Linux, "", "", 0, func(name string) (string, bool) {
		i := slices.Index(variables, name)
		if i < 0 {
			return "", false
		}
		return variables[i+1], true
	})
	r := NewRecorder(dir, env, "1.2.3")
	r.now, r.wait = func() time.Time { return now }, time.Minute // a loaded machine loses nothing here
	return r
}

func settings(dir string) *config.Config {
	return &config.Config{DataRoot: dir, LocalUsage: config.Switch{On: true}}
}

func rows(t *testing.T, dir string) []row {
	t.Helper()
	var all []row
	if err := read(t.Context(), dir, "", func(r row) bool { all = append(all, r); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

func number[T int | int64](n T) *T { return &n }

func TestRowOfCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call Call
		want row
	}{
		"no result set": {Call{Surface: CLI, Operation: "import", Duration: 40 * time.Second, OutputBytes: 7},
			row{outcome: success, value: notApplicable, bucket: "30_s_or_more", coverage: notApplicable, output: 7}},
		"failed": {Call{Surface: MCP, Operation: "search", Failed: true, Results: number(3), Search: &SearchBytes{Delivered: 9}, OutputBytes: 5},
			row{outcome: failure, value: notApplicable, bucket: "under_10_ms", coverage: notApplicable, output: 5}},
		"empty": {Call{Surface: MCP, Operation: "search", Results: number(0), Search: &SearchBytes{}, Duration: 10 * time.Millisecond},
			row{outcome: success, value: empty, bucket: "10_to_49_ms", coverage: unavailable}},
		"covered": {Call{Surface: MCP, Operation: "search", Results: number(2), Search: &SearchBytes{Delivered: 9, Matched: number(int64(90))}, Duration: time.Second},
			row{outcome: success, value: resultBearing, bucket: "1_to_4_s", coverage: complete, results: 2, delivered: 9, matched: 90}},
	} {
		want := c.want
		want.day, want.ctxVersion, want.definition, want.calls = "2026-12-02", "v", 2, 1
		want.surface, want.operation = c.call.Surface, c.call.Operation
		if got := c.call.row("v", noon); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// Calls of one day, operation and class share a row; days beyond the retention go when a call is stored, and are never shown.
func TestDailyRowsAndRetention(t *testing.T) {
	t.Parallel()
	dir := root(t, "")
	search := Call{Surface: CLI, Operation: "search", Results: number(2), OutputBytes: 10, Search: &SearchBytes{Delivered: 4}}
	for range 3 {
		recorder(dir, noon).Record(search)
	}
	recorder(dir, noon.AddDate(0, 0, 1)).Record(search)
	recorder(dir, noon).Record(Call{Surface: MCP, Operation: "status", Failed: true, OutputBytes: 100})
	got := rows(t, dir)
	if len(got) != 3 || got[0].calls != 3 || got[1].calls != 1 {
		t.Fatalf("rows %+v", got)
	}
	for _, r := range got {
		if r.surface == CLI && (r.results != 2*r.calls || r.output != 10*r.calls || r.delivered != 4*r.calls) {
			t.Errorf("sums %+v", r)
		}
	}
	recorder(dir, noon.AddDate(0, 0, retentionDays-1)).Record(search)
	if got := rows(t, dir); len(got) != 4 {
		t.Fatalf("a row within the retention is gone: %+v", got)
	}
	recorder(dir, noon.AddDate(0, 0, retentionDays)).Record(search)
	if got := rows(t, dir); len(got) != 3 || slices.ContainsFunc(got, func(r row) bool { return r.day == day(noon) }) {
		t.Fatalf("rows after the retention %+v", got)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	dir := root(t, "")
	now := time.Now()
	for _, c := range []Call{
		{Surface: CLI, Operation: "search", Results: number(2), OutputBytes: 10, Search: &SearchBytes{Delivered: 60, Matched: number(int64(660))}},
		{Surface: CLI, Operation: "search", Results: number(0), OutputBytes: 20, Search: &SearchBytes{Delivered: 60}, Duration: time.Minute},
		{Surface: MCP, Operation: "search", Failed: true, OutputBytes: 40},
		{Surface: MCP, Operation: "status", OutputBytes: 80},
	} {
		recorder(dir, now).Record(c)
	}
	r := Stats(t.Context(), settings(dir), true)
	if r.State != Ready || !r.Enabled || r.Error != nil || len(r.Definitions) != 1 {
		t.Fatalf("report %+v", r)
	}
	d := r.Definitions[0]
	want := Summary{Counters{Calls: 4, Successful: 3, Failed: 1, ResultBearing: 1, Empty: 1, NotApplicable: 2, Results: 2, Output: 150,
		Context: 120, Matched: 660, Covered: 1, Uncovered: 1}, 120}
	if d.Summary != want || d.Version != 2 || d.ActiveDays != 1 || d.FirstDay != day(now) || d.LastDay != day(now) ||
		!reflect.DeepEqual(d.CtxVersions, []string{"1.2.3"}) {
		t.Errorf("definition %+v", d)
	}
	var names []string
	for _, o := range d.ByOperation {
		names = append(names, o.Surface+" "+o.Name)
	}
	if !slices.Equal(names, []string{"cli search", "mcp search", "mcp status"}) || d.ByOperation[0].Calls != 2 {
		t.Errorf("operations %v", names)
	}
	if len(d.Durations) != 7 || d.Durations[0].Calls != 3 || d.Durations[6].Calls != 1 {
		t.Errorf("durations %+v", d.Durations)
	}
	e := Estimates{Tokens{1, 120, Range{24, 30, 40}}, Reduction{1, 1, 1, 1, 660, 60, 600, Range{120, 150, 200}}}
	if *r.Estimates != e {
		t.Errorf("estimates %+v", *r.Estimates)
	}
	if c := Observe(t.Context(), settings(dir)); c.State != Ready || !c.Enabled || c.Error != nil {
		t.Errorf("compact %+v", c)
	}
	if plain := Stats(t.Context(), settings(dir), false).Definitions[0]; plain.ByOperation != nil || plain.Durations != nil {
		t.Errorf("detail without being asked: %+v", plain)
	}
}

// The states that need no readable store, and the members that they leave out.
func TestStates(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "not", "there")
	broken := root(t, "")
	writeFile(t, filepath.Join(broken, FileName), "this is no database, and it is long enough to hold a header of one hundred bytes, which is what is read first")
	off := settings(broken)
	off.LocalUsage.On = false
	for name, c := range map[string]struct {
		settings *config.Config
		state    string
		code     string
		want     string // of the definitions member
	}{
		"missing":   {settings(missing), Empty, "", "[]"},
		"broken":    {settings(broken), Failed, "usage_store_unavailable", ""},
		"disabled":  {off, Disabled, "", ""},
		"no config": {nil, Failed, "local_usage_config_unavailable", ""},
	} {
		r, compact := Stats(t.Context(), c.settings, true), Observe(t.Context(), c.settings)
		for _, e := range []*Error{r.Error, compact.Error} {
			if (e == nil) != (c.code == "") || e != nil && e.Code != c.code {
				t.Errorf("%s: error %+v", name, e)
			}
		}
		if r.State != c.state || compact.State != c.state {
			t.Errorf("%s: %s and %s", name, r.State, compact.State)
		}
		var members map[string]json.RawMessage
		text, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(text, &members)
		}
		if err != nil || string(members["definitions"]) != c.want || members["estimates"] != nil {
			t.Errorf("%s: %v %s", name, err, text)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a report created something")
	}
}

// Whatever is wrong with the store, a call returns soon, is lost, and damages nothing.
func TestFailsOpen(t *testing.T) {
	t.Parallel()
	call := Call{Surface: CLI, Operation: "search"}
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"garbage":   func(t *testing.T, dir string) { writeFile(t, storePath(dir), "garbage") },
		"directory": func(t *testing.T, dir string) { must(t, os.Mkdir(storePath(dir), 0o700)) },
		"read-only": func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o500)) },
		"root gone": func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Dir(dir))) },
		"other version": func(t *testing.T, dir string) {
			execute(t, dir, "CREATE TABLE daily (x); PRAGMA user_version = 9")
		},
		"other table": func(t *testing.T, dir string) {
			execute(t, dir, "CREATE TABLE daily (x); PRAGMA user_version = 4")
		},
		"locked": func(t *testing.T, dir string) {
			recorder(dir, noon).Record(call)
			execute(t, dir, "BEGIN EXCLUSIVE")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "a", "b")
			must(t, os.MkdirAll(dir, 0o700))
			prepare(t, dir)
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // or the directory cannot be removed
			before, _ := os.ReadFile(storePath(dir))
			r := recorder(dir, noon)
			err := r.store(call)
			r.Record(call)
			if name == "read-only" && os.Geteuid() <= 0 {
				return // root writes anyway
			}
			if err == nil {
				t.Error("the store took the call")
			}
			if after, _ := os.ReadFile(storePath(dir)); !bytes.Equal(before, after) {
				t.Error("the store was changed")
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// execute runs statements on the store, through one connection that stays open for the test.
func execute(t *testing.T, dir, statements string) {
	t.Helper()
	db, err := database(storePath(dir), "rwc", time.Second)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	var conn *sql.Conn
	conn, err = db.Conn(context.Background())
	must(t, err)
	_, err = conn.ExecContext(t.Context(), statements)
	must(t, err)
}

// Nothing that a user typed, read or named may reach the store.
func TestContentFree(t *testing.T) {
	t.Parallel()
	const marker = "markerword"
	dir := filepath.Join(t.TempDir(), marker)
	must(t, os.Mkdir(dir, 0o700))
	writeFile(t, filepath.Join(dir, config.FileName), "[sources.roots."+marker+"]\nprovider = \"claude\"\npath = \"/"+marker+"\"\n")
	r := recorder(dir, noon)
	r.Record(Call{Surface: CLI, Operation: "search", OutputBytes: 5, Results: number(1)})
	for _, refused := range []string{"", "search " + marker, "Search", "/" + marker, "search7", "0123abcd", "söarch"} {
		r.Record(Call{Surface: CLI, Operation: refused})
	}
	if got := rows(t, dir); len(got) != 1 || got[0].calls != 1 {
		t.Errorf("rows %+v", got)
	}
	text, err := os.ReadFile(storePath(dir))
	must(t, err)
	if bytes.Contains(text, []byte(marker)) || !bytes.Contains(text, []byte("search")) {
		t.Error("the store holds the marker, or not even the operation")
	}
}

// The control is resolved for every call: off comes before any look at the store, and a config that breaks changes nothing.
func TestControl(t *testing.T) {
	t.Parallel()
	call := Call{Surface: MCP, Operation: "status"}
	dir := root(t, "[local_usage]\nenabled = false\n")
	file := filepath.Join(dir, config.FileName)
	r := recorder(dir, noon)
	r.Record(call)
	if _, err := os.Stat(storePath(dir)); !os.IsNotExist(err) {
		t.Fatalf("a store while counting is off: %v", err)
	}
	counted := func(want int64) {
		t.Helper()
		var got int64
		for _, r := range rows(t, dir) {
			got += r.calls
		}
		if got != want {
			t.Fatalf("%d calls, want %d", got, want)
		}
	}
	for _, step := range []struct {
		config string
		calls  int64
	}{
		{"[broken", 0}, {"[local_usage]\nenabled = true\n", 1}, {"[broken", 2}, {"[local_usage]\nenabled = false\n", 2}, {"[broken", 2}, {"", 3},
	} {
		writeFile(t, file, step.config)
		r.Record(call)
		counted(step.calls)
	}
	for _, c := range []struct {
		value string
		calls int64
	}{{"0", 3}, {"nonsense", 3}, {"true", 4}} {
		recorder(dir, noon, "CTX_LOCAL_USAGE_ENABLED", c.value).Record(call)
		counted(c.calls)
	}
	recorder(dir, noon).Record(call)
	counted(5)
	if state, err := Reset(dir); state != "cleared" || err != nil {
		t.Fatal(state, err)
	}
	if state, err := Reset(dir); state != "missing" || err != nil {
		t.Fatal(state, err)
	}
	counted(0)
}

func TestStoreIsPrivateAndMakesTheLastPartOfTheRoot(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "root")
	recorder(dir, noon).Record(Call{Surface: CLI, Operation: "doctor"})
	info, err := os.Stat(storePath(dir))
	must(t, err)
	if os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// One recorder serves all goroutines of a server without losing a call.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	dir := root(t, "")
	r := recorder(dir, noon)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { r.Record(Call{Surface: MCP, Operation: "search"}) })
	}
	group.Wait()
	if got := rows(t, dir); len(got) != 1 || got[0].calls != 8 {
		t.Errorf("rows %+v", got)
	}
}
