package sqlitesnap

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
)

const writerEnv = "SQLITESNAP_TEST_WRITER"

// TestMain makes the test binary also the writer, a process of its own: it runs the statements that come in, one a line, and
// keeps the database open until its input ends.
func TestMain(m *testing.M) {
	path := os.Getenv(writerEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	db, err := sql.Open("sqlite", path)
	if err == nil {
		db.SetMaxOpenConns(1)
		lines := bufio.NewScanner(os.Stdin)
		for err == nil && lines.Scan() {
			if _, err = db.Exec(lines.Text()); err == nil {
				fmt.Println("done")
			}
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if os.Getenv(writerEnv+"_CRASH") == "" {
		db.Close()
	}
	os.Exit(0)
}

// writer is a process that has a database open.
type writer struct {
	t     *testing.T
	in    io.WriteCloser
	out   *bufio.Scanner
	cmd   *exec.Cmd
	ended bool
}

func startWriter(t *testing.T, path string, crash bool) *writer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+path)
	if crash {
		cmd.Env = append(cmd.Env, writerEnv+"_CRASH=1")
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, in: in, out: bufio.NewScanner(out), cmd: cmd}
	t.Cleanup(w.end)
	return w
}

func (w *writer) run(statements ...string) {
	w.t.Helper()
	for _, s := range statements {
		fmt.Fprintln(w.in, s)
		if !w.out.Scan() || w.out.Text() != "done" {
			w.t.Fatalf("%s: %s", s, w.out.Text())
		}
	}
}

func (w *writer) end() {
	if !w.ended {
		w.ended = true
		w.in.Close()
		_ = w.cmd.Wait()
	}
}

var schema = []string{
	"CREATE TABLE kv(key TEXT UNIQUE, value BLOB)",
	"INSERT INTO kv VALUES('bubble:a:1','one'),('bubble:a:2',NULL),('bubble:b:1',X'0001'),('other:a','no'),('cursorAuth/accessToken','planted-secret')",
	"CREATE TABLE blobs(id TEXT PRIMARY KEY, data BLOB)",
	"INSERT INTO blobs VALUES('z','first'),('authToken','planted-secret'),('a','second')",
}

var options = Options{Tables: []Table{
	{Name: "kv", Columns: []string{"value"}, Key: "key", Keys: []string{"bubble:", "exact"}},
	{Name: "blobs", Columns: []string{"id", "data"}, Key: "id"},
	{Name: "absent", Columns: []string{"x"}},
}}

// beside is everything a user could notice around a database.
func beside(t *testing.T, path string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d %v %v %x\n", e.Name(), info.Size(), info.Mode(), info.ModTime().UnixNano(), content)
	}
	return b.String()
}

func values(t *testing.T, s *Snapshot, q Query) []string {
	t.Helper()
	var got []string
	err := s.Each(t.Context(), q, func(row *Row) error {
		text := row.Key
		for _, c := range row.Cells {
			switch {
			case c.Null:
				text += " null"
			case c.TooLong():
				text += fmt.Sprint(" long ", c.Length)
			default:
				text += " " + string(c.Bytes)
			}
		}
		got = append(got, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func open(t *testing.T, path string, o Options) *Snapshot {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestModes: each state of a database is read in its mode, completely, and leaves no trace.
func TestModes(t *testing.T) {
	grown := "INSERT INTO kv VALUES('bubble:c:1','in the log')"
	cases := []struct {
		name  string
		crash bool // the writer ends without closing
		live  bool // the writer goes on
		sql   []string
		after func(path string) error
		mode  Mode
		last  string
	}{
		{"closed", false, false, []string{grown}, nil, Immutable, "bubble:c:1 in the log"},
		{"closed log", false, false, []string{"PRAGMA journal_mode=WAL", grown}, nil, Immutable, "bubble:c:1 in the log"},
		{"open without log", false, true, []string{grown}, nil, Immutable, "bubble:c:1 in the log"},
		{"live log", false, true, []string{"PRAGMA journal_mode=WAL", grown}, nil, Live, "bubble:c:1 in the log"},
		{"live log that was emptied", false, true, []string{"PRAGMA journal_mode=WAL", grown, "PRAGMA wal_checkpoint(TRUNCATE)"}, nil, Live, "bubble:c:1 in the log"},
		{"emptied log of a crash", true, false, []string{"PRAGMA journal_mode=WAL", grown, "PRAGMA wal_checkpoint(TRUNCATE)"}, nil, Live, "bubble:c:1 in the log"},
		{"emptied log without index", true, false, []string{"PRAGMA journal_mode=WAL", grown, "PRAGMA wal_checkpoint(TRUNCATE)"},
			func(path string) error { return os.Remove(path + "-shm") }, Immutable, "bubble:c:1 in the log"},
		{"live log in a transaction", false, true, []string{"PRAGMA journal_mode=WAL", "DELETE FROM kv WHERE key='bubble:b:1'", "BEGIN IMMEDIATE", grown}, nil, Live, "bubble:a:2 null"},
		{"log of a crash", true, false, []string{"PRAGMA journal_mode=WAL", grown}, nil, Live, "bubble:c:1 in the log"},
		{"log without index", true, false, []string{"PRAGMA journal_mode=WAL", grown},
			func(path string) error { return os.Remove(path + "-shm") }, Copied, "bubble:c:1 in the log"},
		{"log kept by an exclusive writer", false, true, []string{"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", grown},
			nil, Copied, "bubble:c:1 in the log"},
		{"journal left beside a closed log", false, false, []string{"PRAGMA journal_mode=WAL", grown},
			func(path string) error { return os.WriteFile(path+"-journal", bytes.Repeat([]byte{0}, 1024), 0o600) }, Copied, "bubble:c:1 in the log"},
		{"change that is not written yet", false, true, []string{"BEGIN IMMEDIATE", grown}, nil, Immutable, "bubble:b:1 \x00\x01"},
		{"rollback journal of a crash", true, false, []string{"PRAGMA cache_size=1", "BEGIN IMMEDIATE",
			"UPDATE kv SET value='torn'", "PRAGMA cache_spill=1",
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<3000) INSERT INTO kv SELECT 'bubble:x:'||i, zeroblob(500) FROM n"},
			nil, Copied, "bubble:b:1 \x00\x01"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && c.live && c.mode == Copied {
				t.Skip("an exclusive writer lets nobody read its file there")
			}
			path := filepath.Join(t.TempDir(), "with ? # % sign.db")
			w := startWriter(t, "file://"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23", " ", "%20").Replace(filepath.ToSlash(path)), c.crash)
			w.run(append(slices.Clone(schema), c.sql...)...)
			if !c.live {
				w.end()
			}
			if c.after != nil {
				if err := c.after(path); err != nil {
					t.Fatal(err)
				}
			}
			before := beside(t, path)
			s := open(t, path, options)
			got := values(t, s, Prefix("kv", "bubble:", "value"))
			if s.mode != c.mode || len(got) == 0 || got[0] != "bubble:a:1 one" || got[len(got)-1] != c.last {
				t.Errorf("mode %d, %q", s.mode, got)
			}
			if err := s.Verify(); err != nil {
				t.Error(err)
			}
			s.Close()
			if after := beside(t, path); after != before {
				t.Errorf("before\n%.600s\nafter\n%.600s", before, after)
			}
			if c.live { // and the writer was not kept from anything
				if slices.Contains(c.sql, "BEGIN IMMEDIATE") {
					w.run("COMMIT")
				}
				w.run("INSERT INTO kv VALUES('bubble:d:1','after')")
			}
		})
	}
}

// TestLocked: a writer that changes the file keeps it for itself, and the error says that another try may do.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	w := startWriter(t, path, false)
	w.run(schema...)
	w.run("BEGIN EXCLUSIVE", "INSERT INTO kv VALUES('bubble:z','x')")
	before := beside(t, path)
	_, err := Open(t.Context(), path, options)
	var class *sdkplugin.Failure
	if !errors.Is(err, ErrBusy) || !errors.As(err, &class) || class.Class != sdkplugin.Changed {
		t.Fatalf("%v", err)
	}
	if after := beside(t, path); after != before {
		t.Error("something changed")
	}
	w.run("COMMIT")
	if got := values(t, open(t, path, options), Prefix("kv", "bubble:", "value")); len(got) != 4 {
		t.Errorf("%q", got)
	}
}

// TestOneState: what is read is one state, whatever a writer does meanwhile.
func TestOneState(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"WAL", "DELETE"} {
		path := filepath.Join(t.TempDir(), "d.db")
		w := startWriter(t, path, false)
		w.run(schema...)
		w.run("PRAGMA journal_mode="+mode, "INSERT INTO kv VALUES('bubble:y','before')")
		s := open(t, path, options)
		first := values(t, s, Prefix("kv", "bubble:", "value"))
		w.run("INSERT INTO kv VALUES('bubble:z','meanwhile')")
		switch mode {
		case "WAL":
			if again := values(t, s, Prefix("kv", "bubble:", "value")); !slices.Equal(first, again) || s.Verify() != nil {
				t.Errorf("%q then %q, %v", first, again, s.Verify())
			}
		case "DELETE":
			if err := s.Verify(); !errors.Is(err, ErrBusy) {
				t.Errorf("a change went unnoticed: %v", err)
			}
		}
	}
}

// TestSecrets: no way leads to a value that is not in the tables of the options.
func TestSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	w := startWriter(t, path, false)
	w.run(schema...)
	w.end()
	refused := []Table{
		{Name: "kv", Columns: []string{"value"}, Key: "key", Keys: []string{""}},
		{Name: "kv", Columns: []string{"value"}, Key: "key", Keys: []string{"/"}},
		{Name: "kv", Columns: []string{"value"}, Key: "key", Keys: []string{"cursorAuth/"}},
		{Name: "kv", Columns: []string{"value"}, Key: "key", Keys: []string{"cursorAuth/accessToken"}},
		{Name: "kv", Columns: []string{"value"}, Key: "key", Keys: []string{"secret://x"}},
		{Name: "auth_kv", Columns: []string{"value"}},
		{Name: "kv", Columns: []string{"refresh_token"}},
		{Name: "kv", Columns: []string{`value" FROM kv; --`}},
		{Name: `kv"; DROP TABLE kv`, Columns: []string{"value"}},
		{Name: "kv", Columns: []string{"*"}}, {Name: "kv"},
		{Name: "kv", Columns: []string{"value"}, Keys: []string{"bubble:"}},
	}
	for _, table := range refused {
		if s, err := Open(t.Context(), path, Options{Tables: []Table{table}}); err == nil {
			s.Close()
			t.Errorf("%+v was taken", table)
		}
	}
	s := open(t, path, options)
	var out bytes.Buffer
	dump := func(row *Row) error { fmt.Fprintf(&out, "%+v\n", row); return nil }
	for _, q := range []Query{
		{Table: "kv", Columns: []string{"value"}},
		{Table: "kv", Columns: []string{"value"}, From: "a", To: "z"},
		{Table: "kv", Columns: []string{"value"}, From: "bubble:", To: "zzz"},
		{Table: "kv", Columns: []string{"value"}, From: "", To: "bubble;"},
		{Table: "kv", Columns: []string{"key"}, From: "bubble:", To: "bubble;"},
		{Table: "exact", Columns: []string{"value"}},
		{Table: "sqlite_schema", Columns: []string{"sql"}},
		Prefix("kv", "cursorAuth/", "value"),
		Prefix("kv", "exact/", "value"),
	} {
		if err := s.Each(t.Context(), q, dump); !errors.Is(err, errRefused) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, key := range []string{"cursorAuth/accessToken", "", "other:a", "exact:"} {
		if _, err := s.Get(t.Context(), "kv", key, []string{"value"}, dump); !errors.Is(err, errRefused) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if _, err := s.Get(t.Context(), "blobs", "authToken", []string{"data"}, dump); !errors.Is(err, errRefused) {
		t.Errorf("a key that looks like a credential: %v", err)
	}
	if got := values(t, s, Query{Table: "blobs", Columns: []string{"data"}, ByRowID: true}); !slices.Equal(got, []string{"z first", "a second"}) {
		t.Errorf("%q", got)
	}
	if bytes.Contains(out.Bytes(), []byte("planted")) {
		t.Errorf("%s", out.Bytes())
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	w := startWriter(t, path, false)
	w.run(schema...)
	w.run("INSERT INTO kv VALUES('bubble:n',12345),('bubble:é','ünï'),('exact',''),('bubble:l',zeroblob(200000))")
	w.end()
	o := options
	o.MaxValue = 1000
	s := open(t, path, o)
	want := []string{"bubble:a:1 one", "bubble:a:2 null", "bubble:b:1 \x00\x01", "bubble:l long 200000", "bubble:n 12345", "bubble:é ünï"}
	if got := values(t, s, Prefix("kv", "bubble:", "value")); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := values(t, s, Prefix("kv", "bubble:a:", "value")); !slices.Equal(got, want[:2]) {
		t.Errorf("%q", got)
	}
	found, err := s.Get(t.Context(), "kv", "exact", []string{"value"}, func(row *Row) error {
		if c := row.Cells[0]; c.Null || c.TooLong() || len(c.Bytes) != 0 {
			t.Errorf("%+v", c)
		}
		return nil
	})
	if !found || err != nil {
		t.Error(found, err)
	}
	if found, err := s.Get(t.Context(), "kv", "bubble:none", []string{"value"}, nil); found || err != nil {
		t.Error(found, err)
	}
	for table, want := range map[string]bool{"kv": true, "blobs": true, "absent": false} {
		if has, err := s.Has(t.Context(), table); has != want || err != nil {
			t.Errorf("%s: %v, %v", table, has, err)
		}
	}
	if err := s.Each(t.Context(), Query{Table: "absent", Columns: []string{"x"}}, nil); classOf(err) != sdkplugin.UnsupportedSchema {
		t.Error(err)
	}
	stop := errors.New("stop")
	if err := s.Each(t.Context(), Prefix("kv", "bubble:", "value"), func(*Row) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	rows := 0
	err = s.Each(ctx, Prefix("kv", "bubble:", "value"), func(*Row) error { rows++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || rows != 1 {
		t.Errorf("%d rows after the cancellation: %v", rows, err)
	}
}

func classOf(err error) sdkplugin.FailureClass {
	var f *sdkplugin.Failure
	if errors.As(err, &f) {
		return f.Class
	}
	return ""
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, class := range map[string]sdkplugin.FailureClass{
		filepath.Join(dir, "none.db"): sdkplugin.Vanished,
		dir:                           sdkplugin.Unreadable,
		write("text.db", strings.Repeat("no database at all ", 99)): sdkplugin.MalformedSource,
	} {
		if _, err := Open(t.Context(), path, options); classOf(err) != class {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	if s, err := Open(t.Context(), write("empty.db", ""), options); err != nil {
		t.Error(err)
	} else {
		s.Close()
	}
	// The engine takes a log beside an empty database for left over.
	write("bare.db-wal", "something")
	write("bare.db-shm", "something")
	bare := write("bare.db", "")
	before := beside(t, bare)
	if s, err := Open(t.Context(), bare, options); err == nil {
		s.Close()
	}
	if after := beside(t, bare); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	write("log.db-wal", "something")
	if _, err := Open(t.Context(), write("log.db", "x"), Options{Tables: options.Tables, MaxCopy: 5}); classOf(err) != sdkplugin.Unreadable {
		t.Errorf("a copy over the limit: %v", err)
	}
}

// TestRetriedCopy: a log that was copied in a try that failed does not stay beside a newer copy of the database.
func TestRetriedCopy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	w := startWriter(t, path, false)
	w.run(schema...)
	w.end()
	seen, err := look(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &privateCopy{dir: t.TempDir(), path: path, seen: seen}
	stale := filepath.Join(c.dir, copyName+"-wal")
	if err := os.WriteFile(stale, []byte("of another state"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Error("the log stayed", err)
	}
}

// TestSettled: a database that was written just now is looked at again, so that its time tells of every change.
func TestSettled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := settled(t.Context(), path)
	if age := time.Since(f.database.ModTime()); err != nil || age < tick {
		t.Error(age, err)
	}
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	if _, err := settled(t.Context(), path); err != nil {
		t.Error(err)
	}
}

// TestCopies: one copy serves all snapshots of a state, goes after the last one, and what a crash left is swept away.
func TestCopies(t *testing.T) { // alone: it ends as the process does
	path := filepath.Join(t.TempDir(), "d.db")
	w := startWriter(t, path, true)
	w.run(append(slices.Clone(schema), "PRAGMA journal_mode=WAL", "INSERT INTO kv VALUES('bubble:w','x')")...)
	w.end()
	if err := os.Remove(path + "-shm"); err != nil {
		t.Fatal(err)
	}
	usual := linger
	t.Cleanup(func() { linger = usual })
	linger = time.Hour
	a, b := open(t, path, options), open(t, path, options)
	dir := a.copy.dir
	if a.copy != b.copy || a.mode != Copied {
		t.Error("two copies of one state")
	}
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	a.Close()
	b.Close()
	c := open(t, path, options)
	if c.copy.dir != dir {
		t.Error("a second copy while the first one lingers")
	}
	linger = time.Millisecond
	c.Close()
	gone := func() bool { _, err := os.Stat(dir); return errors.Is(err, os.ErrNotExist) }
	for deadline := time.Now().Add(time.Minute); !gone(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the copy stayed")
		}
	}
	if d := open(t, path, options); d.copy.dir == dir {
		t.Error("a copy that is gone was used again")
	}

	last := open(t, path, options)
	removeCopies()
	if _, err := os.Stat(last.copy.dir); !errors.Is(err, os.ErrNotExist) && runtime.GOOS != "windows" {
		t.Error("a copy survives the process", err)
	}
}

// TestUnwritableFolder: a log whose index nobody may make.
func TestUnwritableFolder(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("permissions do not bind this user")
	}
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "d.db")
	w := startWriter(t, path, true)
	w.run(append(slices.Clone(schema), "PRAGMA journal_mode=WAL", "INSERT INTO kv VALUES('bubble:w','x')")...)
	w.end()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if got := values(t, open(t, path, options), Prefix("kv", "bubble:", "value")); len(got) != 4 {
		t.Errorf("%q", got)
	}
}
