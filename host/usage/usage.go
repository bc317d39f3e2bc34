// Package usage counts, on this machine only, how often ctx is used and how much it delivers.
//
// Vocabulary: a *call* is one command of the command line or one tool call over MCP whose answer was delivered in full; its
// *surface* is cli or mcp, its *operation* the command or tool (search, show_session), its *value class* whether it returned results,
// returned none (empty) or has no result set at all (not_applicable). *Context* are the snippet bytes of a search; a search is
// *covered* (complete) when the size of the sessions behind its results is known as well. The *store* is usage.sqlite in the data
// root: one row a day and combination of these, kept for 400 days. Nothing else is stored: no query, no path, no id, no time of day.
//
// Whoever delivers answers makes one Recorder and calls Record once an answer, after its last byte was handed over:
//
//	rec := usage.NewRecorder(dataRoot, env, version)
//	rec.Record(usage.Call{Surface: usage.MCP, Operation: "search", Duration: took, OutputBytes: int64(len(line)), Results: &n,
//		Search: &usage.SearchBytes{Delivered: snippetBytes}})
//
// Record is safe for concurrent use, reads the control ([local_usage] enabled, CTX_LOCAL_USAGE_ENABLED) anew every time, and fails
// open: a store that is damaged, locked, full or read-only loses the count and nothing else.
package usage

import (
	"path/filepath"
	"time"
)

// Versions and limits that reports name.
const (
	reportVersion     = 3
	storeVersion      = 4 // user_version of the store
	definitionVersion = 2 // what the counters mean; rows of different definitions are never added up
	retentionDays     = 400
)

// FileName is the store below the data root.
const FileName = "usage.sqlite"

// Surfaces.
const (
	CLI = "cli"
	MCP = "mcp"
)

// Outcomes, value classes and context coverages of a stored row.
const (
	success       = "success"
	failure       = "failure"
	resultBearing = "result_bearing"
	empty         = "empty"
	notApplicable = "not_applicable"
	complete      = "complete"
	unavailable   = "unavailable"
)

// Call is one delivered answer.
type Call struct {
	Surface     string // CLI or MCP
	Operation   string // name of the command or tool: a to z and _
	Failed      bool
	Duration    time.Duration
	OutputBytes int64        // stdout and stderr, or the response line with its newline
	Results     *int         // length of the result set, nil for an operation without one
	Search      *SearchBytes // of a search only
}

// SearchBytes are the sizes that a search adds.
type SearchBytes struct {
	Delivered int64  // snippet bytes in the answer
	Matched   *int64 // normalized bytes of the sessions behind the results, nil when not fully known
}

// row is a call as it is stored, with the key of its daily row first.
type row struct {
	day, ctxVersion, surface, operation        string
	definition                                 int
	outcome, value, bucket, coverage           string
	calls, results, output, delivered, matched int64
}

func (c Call) row(version string, now time.Time) row {
	r := row{
		day: day(now), ctxVersion: version, surface: c.Surface, operation: c.Operation, definition: definitionVersion,
		outcome: success, value: notApplicable, bucket: bucketOf(c.Duration), coverage: notApplicable, calls: 1, output: c.OutputBytes,
	}
	if c.Failed {
		r.outcome = failure
		return r
	}
	if c.Results != nil {
		r.value, r.results = resultBearing, int64(*c.Results)
		if *c.Results == 0 {
			r.value = empty
		}
	}
	if s := c.Search; s != nil {
		r.coverage, r.delivered = unavailable, s.Delivered
		if s.Matched != nil {
			r.coverage, r.matched = complete, *s.Matched
		}
	}
	return r
}

// named tells whether an operation is a name and nothing that came from a user.
func named(operation string) bool {
	for i := range len(operation) {
		if b := operation[i]; b != '_' && (b < 'a' || b > 'z') {
			return false
		}
	}
	return operation != "" && len(operation) <= 40
}

// buckets are the duration classes in ascending order.
var buckets = []struct {
	name  string
	below time.Duration
}{
	{"under_10_ms", 10 * time.Millisecond}, {"10_to_49_ms", 50 * time.Millisecond}, {"50_to_249_ms", 250 * time.Millisecond},
	{"250_to_999_ms", time.Second}, {"1_to_4_s", 5 * time.Second}, {"5_to_29_s", 30 * time.Second}, {"30_s_or_more", 1<<63 - 1},
}

func bucketOf(d time.Duration) string {
	for _, b := range buckets {
		if d < b.below {
			return b.name
		}
	}
	return buckets[len(buckets)-1].name
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// oldest is the first day that is still kept.
func oldest(now time.Time) string { return day(now.UTC().AddDate(0, 0, 1-retentionDays)) }

func storePath(dataRoot string) string { return filepath.Join(dataRoot, FileName) }
