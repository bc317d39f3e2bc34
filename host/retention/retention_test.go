package retention

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/record"
)

// day is a moment so many days ago.
func day(ago int) int64 { return time.Now().Add(-time.Duration(ago) * 24 * time.Hour).UnixMilli() }

func said(at int64, text string) []fixture.Event {
	return []fixture.Event{{Key: text + "1", Sequence: 1, At: at, Text: text}, {Key: text + "2", Sequence: 2, At: at, Text: text}}
}

// archived is a store with a source of every kind; its default route is selected.
func archived(t *testing.T) (*fixture.Archive, *Archive) {
	t.Helper()
	t.Parallel()
	a := fixture.Build(t,
		fixture.Session{Name: "here", Events: said(day(100), "here")},
		fixture.Session{Name: "gone", State: core.Gone, Events: said(day(100), "gone")},
		fixture.Session{Name: "lately", State: core.Gone, Events: said(day(1), "lately")},
		fixture.Session{Name: "untimed", State: core.Gone, Events: said(0, "untimed")},
		fixture.Session{Name: "kept", Route: "old", Events: said(day(100), "kept")},
		fixture.Session{Name: "both", Route: "old", State: core.Gone, Events: said(day(100), "both")},
		fixture.Session{Name: "child", Parent: "here", Events: said(day(100), "child")})
	return a, &Archive{Store: a.Store, DataRoot: a.Root}
}

func selected(route string) bool { return route == fixture.Route }

// stands lists the sessions of the active generation by name.
func stands(t *testing.T, a *Archive) (names []string) {
	t.Helper()
	g, err := a.Store.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := sessions(g, func(s stored) { names = append(names, s.ProviderSessionID) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func expect(t *testing.T, a *Archive, want string) {
	t.Helper()
	if got := strings.Join(stands(t, a), " "); got != want {
		t.Errorf("stored: %s; want %s", got, want)
	}
}

const everything = "both child gone here kept lately untimed"

func TestPrune(t *testing.T) {
	id := fixture.SessionID(fixture.Provider, "gone")
	for name, c := range map[string]struct {
		prune Prune
		want  Pruned
		left  string
	}{
		"gone":     {Prune{Gone: true}, Pruned{Sources: 4, Sessions: 4, Events: 8, KeptRetained: 1}, "child here kept"},
		"retained": {Prune{Retained: true}, Pruned{Sources: 2, Sessions: 2, Events: 4, KeptGone: 3}, "child gone here lately untimed"},
		"either":   {Prune{Gone: true, Retained: true}, Pruned{Sources: 5, Sessions: 5, Events: 10}, "child here"},
		"old ones": {Prune{Gone: true, Before: day(30)}, Pruned{Sources: 2, Sessions: 2, Events: 4, KeptGone: 2, KeptRetained: 1}, "child here kept lately untimed"},
		"one":      {Prune{Session: id}, Pruned{Sources: 1, Sessions: 1, Events: 2, KeptGone: 3, KeptRetained: 2}, "both child here kept lately untimed"},
		"too old":  {Prune{Session: id, Before: day(365)}, Pruned{KeptGone: 4, KeptRetained: 2}, everything},
	} {
		t.Run(name, func(t *testing.T) {
			_, a := archived(t)
			c.prune.Selected = selected
			for _, dry := range []bool{true, false} {
				c.prune.DryRun = dry
				want := c.want
				want.SchemaVersion, want.Operation, want.DryRun, want.Changed = 1, "prune", dry, !dry && c.want.Sessions > 0
				got, err := a.Prune(t.Context(), c.prune)
				if err != nil || *got != want {
					t.Fatalf("got %+v, %v; want %+v", got, err, want)
				}
				if dry {
					expect(t, a, everything)
				}
			}
			expect(t, a, c.left)
		})
	}
}

func TestPruneRefusesWhatIsThere(t *testing.T) {
	_, a := archived(t)
	_, err := a.Prune(t.Context(), Prune{Session: fixture.SessionID(fixture.Provider, "here"), Selected: selected})
	if fault.Code(err) != fault.InvalidRequest || !strings.Contains(fault.From(err).Hint, "ctx forget") {
		t.Errorf("%v", err)
	}
	expect(t, a, everything)
}

func TestForgetAndUndo(t *testing.T) {
	_, a := archived(t)
	id := fixture.SessionID(fixture.Provider, "here")
	done, err := a.Forget(t.Context(), id)
	want := Forgetting{1, "forget", true, id.String(), fixture.Provider, 1, 2, 1}
	if err != nil || *done != want {
		t.Fatalf("%+v, %v; want %+v", done, err, want)
	}
	expect(t, a, "both child gone kept lately untimed")
	g, err := a.Store.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	list, err := LoadForgotten(a.DataRoot)
	if err != nil || g.Manifest().Tombstones != list.Digest() || list.Digest() == "" {
		t.Fatalf("the generation names the list %q, it is %q, %v", g.Manifest().Tombstones, list.Digest(), err)
	}
	if p, err := a.Store.Pointer(); err != nil || p.Previous != nil {
		t.Errorf("the generation before is kept: %+v, %v", p, err)
	}
	cert, err := g.Certificate(fixture.SourceID(fixture.Provider, "here"))
	if err != nil || cert == nil || len(cert.Forgotten) != 1 || list.Lifted(cert.Forgotten) {
		t.Fatalf("certificate %+v, %v", cert, err)
	}
	if _, err := a.Forget(t.Context(), id); fault.Code(err) != fault.NotFound {
		t.Errorf("forgotten twice: %v", err)
	}
	if ids, provider := list.Find(strings.ReplaceAll(id.String(), "-", "")[:10]); len(ids) != 1 || ids[0] != id.String() || provider != fixture.Provider {
		t.Errorf("found %q, %s", ids, provider)
	}
	for _, changed := range []bool{true, false} {
		undone, err := a.Undo(t.Context(), id.String())
		if err != nil || undone.Operation != "undo" || undone.Changed != changed {
			t.Fatalf("%+v, %v", undone, err)
		}
	}
	if list, err = LoadForgotten(a.DataRoot); err != nil || list.Digest() != "" || !list.Lifted(cert.Forgotten) {
		t.Errorf("%+v, %v", list, err)
	}
}

// A source that is gone and held nothing else is not kept for an empty shell.
func TestForgetTakesTheGoneSource(t *testing.T) {
	_, a := archived(t)
	if _, err := a.Forget(t.Context(), fixture.SessionID(fixture.Provider, "gone")); err != nil {
		t.Fatal(err)
	}
	g, err := a.Store.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if cert, err := g.Certificate(fixture.SourceID(fixture.Provider, "gone")); cert != nil || err != nil {
		t.Errorf("%+v, %v", cert, err)
	}
}

// A crash after the list was written leaves a session that the next refresh erases.
func TestApplyFinishesAForget(t *testing.T) {
	_, a := archived(t)
	g, err := a.Store.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s, err := g.SessionByID(fixture.SessionID(fixture.Provider, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := LoadForgotten(a.DataRoot)
	if err != nil {
		t.Fatal(err)
	}
	if moved, err := list.Apply(t.Context(), a.Store, g); moved || err != nil {
		t.Fatalf("nothing to do, but %v, %v", moved, err)
	}
	list = list.with(Tombstone(s.Provider, s.Kind, s.Key), s.Provider, []string{s.ID.String()})
	if err := list.write(); err != nil {
		t.Fatal(err)
	}
	if moved, err := list.Apply(t.Context(), a.Store, g); !moved || err != nil {
		t.Fatalf("%v, %v", moved, err)
	}
	expect(t, a, "both child gone here lately untimed")
}

// The root plays no part in a tombstone, everything else does.
func TestTombstone(t *testing.T) {
	t.Parallel()
	seen := map[record.Digest]bool{}
	for _, parts := range [][3]string{{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"a", "b", "d"}} {
		d := Tombstone(parts[0], parts[1], []byte(parts[2]))
		if seen[d] || Number(d) == 0 {
			t.Errorf("%q", parts)
		}
		seen[d] = true
	}
	if got := Tombstone("claude", "claude-session", []byte{1}).Hex(); got != "0136bfc90e4fc6888ba5e447591800af25cb6a722cd7ae2c8b2a0184fd383dc6" {
		t.Errorf("%s", got)
	}
}

// Without its list, what was forgotten would come back: a damaged one stops everything.
func TestDamagedList(t *testing.T) {
	t.Parallel()
	good := `{"tombstone":"` + strings.Repeat("ab", 32) + `","provider":"p","sessions":["x"]}`
	for name, text := range map[string]string{
		"no JSON": good + "\n{", "short": `{"tombstone":"ab"}`, "no hex": `{"tombstone":"` + strings.Repeat("x", 64) + `"}`, "no digest": "{}",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, listFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadForgotten(dir); fault.Code(err) != fault.ResourceUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}
