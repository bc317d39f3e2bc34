package core

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The crash tests run the test binary again as the writer and kill it at every step.
const (
	crashDir   = "CTX_CORE_CRASH_DIR"
	crashStep  = "CTX_CORE_CRASH_STEP" // number of the step at which the writer dies
	crashState = "CTX_CORE_CRASH_STATE"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		os.Exit(crashingWriter(dir, os.Getenv(crashState), os.Getenv(crashStep)))
	}
	os.Exit(m.Run())
}

// crashStates are the contents that the tests move between.
var crashStates = map[string][]source{
	"old": {numbered("one", 2, 8), numbered("two", 1, 5), numbered("three", 1, 3)},
	"new": {numbered("one", 1, 4), numbered("two", 1, 9), numbered("four", 1, 6)},
}

// moveTo changes a candidate from state old, or from nothing, to the state.
func moveTo(a *archive, c *Candidate, state string) {
	a.t.Helper()
	for _, s := range crashStates[state] {
		a.replace(c, s)
	}
	a.must(dropOthers(c, state))
}

// dropOthers drops the sources that are not part of the state.
func dropOthers(c *Candidate, state string) error {
	if c.Base() == nil {
		return nil
	}
	return c.Base().Certificates(func(cert *Certificate) error {
		for _, s := range crashStates[state] {
			if s.id() == cert.Source {
				return nil
			}
		}
		return c.Drop(cert.Source)
	})
}

// crashingWriter is the life of the writer process: exit code 0 when it survived, 3 on an error, killed otherwise.
func crashingWriter(dir, state, step string) int {
	at, err := strconv.Atoi(step)
	if err != nil {
		return 3
	}
	n := 0
	t := &dyingT{}
	a := &archive{t: t, Store: Open(dir, Options{Step: func(string) error {
		if n == at {
			p, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = p.Kill()
			}
			fmt.Fprintln(os.Stderr, "still alive:", err)
			select {}
		}
		n++
		return nil
	}})}
	a.refresh(func(c *Candidate) { moveTo(a, c, state) })
	return 0
}

// dyingT is a testing.TB for the writer process: a failure ends it.
type dyingT struct{ testing.TB }

func (*dyingT) Helper() {}
func (*dyingT) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(3)
}

// runWriter starts the writer process; it returns whether it was killed at the step.
func runWriter(t *testing.T, dir, state string, step int) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashState+"="+state, crashStep+"="+strconv.Itoa(step))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	if code := cmd.ProcessState.ExitCode(); code == 3 || len(out) > 0 {
		t.Fatalf("the writer failed at step %d: %v: %s", step, err, out)
	}
	return true
}

func stateTexts(state string) []string {
	var out []string
	for _, s := range crashStates[state] {
		for _, ss := range s.sessions {
			for _, e := range ss.events {
				out = append(out, e.text)
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestWriterKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	template := newArchive(t)
	template.refresh(func(c *Candidate) { moveTo(template, c, "old") })
	survived := false
	names := map[string]bool{}
	for step := 0; !survived; step++ {
		if step > 60 {
			t.Fatal("the writer never comes to its end")
		}
		a := &archive{t: t, Store: Open(copyTree(t, template.Dir()), Options{})}
		survived = !runWriter(t, a.Dir(), "new", step)
		state := whichState(a)
		if survived && state != "new" {
			t.Fatalf("the surviving writer left state %q", state)
		}
		names[state] = true
		a.verify()

		// The next writer removes what was left behind and gets to the new state.
		p := a.refresh(func(c *Candidate) {
			if left := leftovers(t, a.Store, c.directory); len(left) > 0 {
				t.Errorf("killed at step %d: left behind: %v", step, left)
			}
			moveTo(a, c, "new")
		})
		if (p.Disposition == DispositionReused) != (state == "new") {
			t.Fatalf("killed at step %d in state %s, then: %+v", step, state, p)
		}
		if got := whichState(a); got != "new" {
			t.Fatalf("killed at step %d: after the next refresh: %q", step, got)
		}
		a.verify()
		if left := leftovers(t, a.Store, ""); len(left) > 0 {
			t.Errorf("killed at step %d: the next writer left behind: %v", step, left)
		}
	}
	if !names["old"] || !names["new"] {
		t.Fatalf("only these states were met: %v", names)
	}
}

func TestFirstWriterKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for step := 0; ; step++ {
		if step > 60 {
			t.Fatal("the writer never comes to its end")
		}
		a := &archive{t: t, Store: Open(filepath.Join(t.TempDir(), "core"), Options{})}
		survived := !runWriter(t, a.Dir(), "new", step)
		state := whichState(a)
		if survived && state != "new" || state == "old" {
			t.Fatalf("killed at step %d: state %q", step, state)
		}
		a.refresh(func(c *Candidate) { moveTo(a, c, "old") })
		if got := whichState(a); got != "old" {
			t.Fatalf("killed at step %d: after the next refresh: %q", step, got)
		}
		a.verify()
		if survived {
			return
		}
	}
}

// whichState reads everything and says which state it is: old, new, or "" for nothing published. Anything else fails the test.
func whichState(a *archive) string {
	a.t.Helper()
	p, err := a.Pointer()
	a.must(err)
	if p.Active == nil {
		return ""
	}
	g, err := a.Pin(context.Background())
	a.must(err)
	defer g.Close()
	got := a.all(g)
	slices.Sort(got)
	for state := range crashStates {
		if slices.Equal(got, stateTexts(state)) {
			return state
		}
	}
	a.t.Fatalf("a mixed state: %q", got)
	return ""
}

// leftovers lists what belongs to no published generation, apart from the candidate in progress.
func leftovers(t *testing.T, s *Store, candidate string) (out []string) {
	t.Helper()
	p, err := s.Pointer()
	if err != nil {
		t.Fatal(err)
	}
	keep := map[string]bool{candidate: true}
	for _, g := range []*Published{p.Active, p.Previous} {
		if g != nil {
			keep[g.Directory] = true
		}
	}
	for _, dir := range []string{generationsDir, leasesDir, observationsDir} {
		entries, err := os.ReadDir(filepath.Join(s.dir, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !keep[e.Name()] {
				out = append(out, dir+"/"+e.Name())
			}
		}
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out
}

// copyTree copies a store.
func copyTree(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "core")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}
