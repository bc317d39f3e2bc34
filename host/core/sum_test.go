package core

import (
	"testing"

	"github.com/agenthistory/ctx/host/record"
)

// A sum does not depend on the order of what came and went, only on what is there; a changed fact, id or table changes it.
func TestSum(t *testing.T) {
	t.Parallel()
	digest := func(n byte) (d record.Digest) { d[0], d[31] = n, 255; return d }
	sum := func(entries ...[4]int) string {
		var s tableSum
		for _, e := range entries { // table, id, facts, times
			s.add(e[0], digest(byte(e[1])), digest(byte(e[2])), e[3])
		}
		return s.hex()
	}
	one, two, three := [4]int{sumSessions, 1, 7, 1}, [4]int{sumSessions, 2, 7, 1}, [4]int{sumSessions, 3, 7, 1}
	without := func(e [4]int) [4]int { e[3] = -1; return e }
	want := sum(one, two)
	for name, same := range map[string]string{
		"another order": sum(two, one), "one came and went": sum(one, three, two, without(three)), "one went before it came": sum(without(one), two, one, one),
	} {
		if same != want {
			t.Errorf("%s: %s, not %s", name, same, want)
		}
	}
	if gone := sum(one, without(one)); gone != sum() {
		t.Errorf("nothing is %s, not %s", gone, sum())
	}
	for name, other := range map[string]string{
		"one entry": sum(one), "an entry twice": sum(one, two, two), "other facts": sum(one, [4]int{sumSessions, 2, 8, 1}),
		"facts exchanged": sum([4]int{sumSessions, 1, 2, 1}, [4]int{sumSessions, 2, 1, 1}), "another table": sum(one, [4]int{sumCertificates, 2, 7, 1}),
	} {
		if other == want {
			t.Errorf("%s gives the same sum", name)
		}
	}
	if s, err := parseSum(want); err != nil || s.hex() != want {
		t.Errorf("%s, %v, not %s", s.hex(), err, want)
	}
	for _, bad := range []string{"", "0", want + "0", want[1:] + "x"} {
		if _, err := parseSum(bad); err == nil {
			t.Errorf("%q is read as a sum", bad)
		}
	}
}

// The same sources give the same certificates whatever the order they came in, a source that went leaves nothing behind, and another one
// is seen.
func TestIdentityFollowsContent(t *testing.T) {
	t.Parallel()
	forward, back := newArchive(t), newArchive(t)
	publish := func(a *archive, name string) Manifest {
		a.refresh(func(c *Candidate) { a.replace(c, numbered(name, 1, 3)) })
		return *a.pin().manifest
	}
	one := publish(forward, "one")
	both := publish(forward, "two")
	publish(back, "two")
	if other := publish(back, "one"); other.Certificates != both.Certificates {
		t.Errorf("certificates %s and %s", both.Certificates, other.Certificates)
	}
	if one.Certificates == both.Certificates || one.Sessions == both.Sessions {
		t.Error("a second source does not change the identity")
	}
	forward.refresh(func(c *Candidate) { forward.must(c.Drop(numbered("two", 1, 3).spec().Source)) })
	if m := forward.pin().manifest; m.Certificates != one.Certificates || m.Sessions != one.Sessions {
		t.Errorf("certificates %s and sessions %s, before the second source %s and %s", m.Certificates, m.Sessions, one.Certificates, one.Sessions)
	}
	forward.verify()
}
