package conformance

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Status of a check.
type Status string

const (
	Passed Status = "passed"
	Failed Status = "failed"
	NotRun Status = "not_run"
)

// Outcome is the result of one check.
type Outcome struct {
	Name     string        `json:"name"`  // stable, snake_case
	About    string        `json:"about"` // what is promised, one line
	Status   Status        `json:"status"`
	Passed   bool          `json:"passed"`
	Detail   string        `json:"detail"` // measured figures, or what is wrong, or why it was not run
	Duration time.Duration `json:"duration_ns"`
}

// Report is the result of all checks, in the order in which they ran.
type Report struct {
	Provider *historyv1.DescribeResponse `json:"-"` // nil when it never answered
	Checks   []Outcome                   `json:"checks"`
}

// Count returns how many checks have the status.
func (r Report) Count(s Status) int {
	n := 0
	for _, c := range r.Checks {
		if c.Status == s {
			n++
		}
	}
	return n
}

// OK tells whether nothing failed and something passed.
func (r Report) OK() bool { return r.Count(Failed) == 0 && r.Count(Passed) > 0 }

// Get returns the outcome of the check of that name.
func (r Report) Get(name string) (Outcome, bool) {
	for _, c := range r.Checks {
		if c.Name == name {
			return c, true
		}
	}
	return Outcome{}, false
}

// Run makes a subtest of every check.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	for _, c := range Check(context.Background(), cfg).Checks {
		t.Run(c.Name, func(t *testing.T) {
			switch c.Status {
			case Failed:
				t.Errorf("%s\n%s", c.About, c.Detail)
			case NotRun:
				t.Skip(c.Detail)
			default:
				t.Logf("%s (%s, %v)", c.About, c.Detail, c.Duration.Round(time.Millisecond))
			}
		})
	}
}

// selfEnv tells the test binary to be the provider.
const selfEnv = "CTX_CONFORMANCE_SERVE"

// Main is the body of TestMain of a provider's tests: it runs them, or, in the process that Self starts, serves the provider.
func Main(m *testing.M, p sdkplugin.Provider) {
	if os.Getenv(selfEnv) != "" {
		sdkplugin.Serve(p)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Self is the command that starts this test binary as the provider.
func Self() []string {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return []string{path, "-test.run=^$"}
}
