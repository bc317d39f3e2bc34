package usage

import (
	"context"
	"slices"
	"time"

	"github.com/agenthistory/ctx/host/config"
)

// States of the counters.
const (
	Disabled = "disabled"
	Empty    = "empty"
	Ready    = "ready"
	Failed   = "error"
)

// Error is stable and holds nothing of the store or the config.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func storeUnavailable() *Error {
	return &Error{"usage_store_unavailable", "the usage counters cannot be read"}
}

func configUnavailable() *Error {
	return &Error{"local_usage_config_unavailable", "the configuration cannot be used"}
}

// Compact is the state without any counts, as status reports it. A missing Error is emitted as null.
type Compact struct {
	SchemaVersion     int    `json:"schema_version"`
	Enabled           bool   `json:"enabled"`
	State             string `json:"state"` // disabled, empty, ready, error
	DefinitionVersion int    `json:"definition_version"`
	RetentionDays     int    `json:"retention_days"`
	Error             *Error `json:"error"`
}

// Observe returns the compact state for the settings of a data root, or, without settings because the config file cannot be used,
// the error that says so.
func Observe(ctx context.Context, settings *config.Config) Compact {
	c := Compact{SchemaVersion: reportVersion, DefinitionVersion: definitionVersion, RetentionDays: retentionDays}
	c.Enabled, c.State, c.Error = state(settings, func() (bool, error) {
		some := false
		err := read(ctx, settings.DataRoot, oldest(time.Now()), func(row) bool { some = true; return false })
		return some, err
	})
	return c
}

// state is what every report says first; look reads the store and is not called while counting is off.
func state(settings *config.Config, look func() (some bool, err error)) (enabled bool, state string, failed *Error) {
	switch {
	case settings == nil:
		return false, Failed, configUnavailable()
	case !settings.LocalUsage.On:
		return false, Disabled, nil
	}
	some, err := look()
	switch {
	case err != nil:
		return true, Failed, storeUnavailable()
	case some:
		return true, Ready, nil
	}
	return true, Empty, nil
}

// Report is the answer of stats, schema 3. Definitions is absent (nil) while counting is off or the store cannot be read.
type Report struct {
	SchemaVersion int           `json:"schema_version"`
	LocalOnly     bool          `json:"local_only"`
	ReadOnly      bool          `json:"read_only"`
	Enabled       bool          `json:"enabled"`
	State         string        `json:"state"`
	RetentionDays int           `json:"retention_days"`
	Definitions   []*Definition `json:"definitions,omitzero"`
	Estimates     *Estimates    `json:"estimates,omitempty"`
	Error         *Error        `json:"error,omitempty"`
}

// Definition is everything counted under one meaning of the counters. The last two members are for a detailed report.
type Definition struct {
	Version     int          `json:"definition_version"`
	CtxVersions []string     `json:"ctx_versions"`
	FirstDay    string       `json:"first_day_utc"`
	LastDay     string       `json:"last_day_utc"`
	ActiveDays  int          `json:"active_days"`
	Summary     Summary      `json:"summary"`
	ByOperation []*Operation `json:"by_operation,omitempty"`
	Durations   []Duration   `json:"duration_buckets,omitempty"`
	days        map[string]bool
}

// Counters are sums over calls; sizes are bytes.
type Counters struct {
	Calls         int64 `json:"calls"`
	Successful    int64 `json:"successful_calls"`
	Failed        int64 `json:"failed_calls"`
	ResultBearing int64 `json:"result_bearing_calls"`
	Empty         int64 `json:"empty_calls"`
	NotApplicable int64 `json:"not_applicable_calls"`
	Results       int64 `json:"result_count"`
	Output        int64 `json:"delivered_output_bytes"`
	Context       int64 `json:"delivered_context_bytes"`
	Matched       int64 `json:"matched_normalized_session_bytes"`
	Covered       int64 `json:"complete_context_eligible_calls"`
	Uncovered     int64 `json:"unavailable_context_eligible_calls"`
}

// Summary adds what the MCP responses have of the delivered output: transport bytes with the newline.
type Summary struct {
	Counters
	MCPResponse int64 `json:"mcp_response_bytes"`
}

// Operation is the share of one command or tool.
type Operation struct {
	CtxVersion string `json:"ctx_version"`
	Surface    string `json:"surface"`
	Name       string `json:"operation"`
	Counters
}

// Duration counts the calls of one duration class.
type Duration struct {
	Bucket string `json:"duration_bucket"`
	Calls  int64  `json:"calls"`
}

// Stats builds the full report; settings as for Observe.
func Stats(ctx context.Context, settings *config.Config, detail bool) *Report {
	r := &Report{SchemaVersion: reportVersion, LocalOnly: true, ReadOnly: true, RetentionDays: retentionDays}
	var covered int64 // context bytes of covered searches
	r.Enabled, r.State, r.Error = state(settings, func() (bool, error) {
		r.Definitions = []*Definition{}
		err := read(ctx, settings.DataRoot, oldest(time.Now()), func(row row) bool {
			r.definition(row.definition).add(row, detail)
			if row.coverage == complete {
				covered += row.delivered
			}
			return true
		})
		return len(r.Definitions) > 0, err
	})
	switch r.State {
	case Ready:
		r.Estimates = estimate(r.Definitions, covered)
	case Failed:
		r.Definitions = nil
	}
	return r
}

// definition returns the last definition, or a new one: rows come in order of their definition.
func (r *Report) definition(version int) *Definition {
	if n := len(r.Definitions); n > 0 && r.Definitions[n-1].Version == version {
		return r.Definitions[n-1]
	}
	d := &Definition{Version: version, days: map[string]bool{}}
	r.Definitions = append(r.Definitions, d)
	return d
}

func (d *Definition) add(r row, detail bool) {
	if !slices.Contains(d.CtxVersions, r.ctxVersion) {
		d.CtxVersions = append(d.CtxVersions, r.ctxVersion)
	}
	if d.FirstDay == "" || r.day < d.FirstDay {
		d.FirstDay = r.day
	}
	d.LastDay = max(d.LastDay, r.day)
	d.days[r.day] = true
	d.ActiveDays = len(d.days)
	d.Summary.add(r)
	if r.surface == MCP {
		d.Summary.MCPResponse += r.output
	}
	if detail {
		d.operation(r).add(r)
		d.duration(r)
	}
}

func (d *Definition) operation(r row) *Counters {
	if n := len(d.ByOperation); n > 0 {
		if last := d.ByOperation[n-1]; last.CtxVersion == r.ctxVersion && last.Surface == r.surface && last.Name == r.operation {
			return &last.Counters
		}
	}
	o := &Operation{CtxVersion: r.ctxVersion, Surface: r.surface, Name: r.operation}
	d.ByOperation = append(d.ByOperation, o)
	return &o.Counters
}

func (d *Definition) duration(r row) {
	if d.Durations == nil {
		for _, b := range buckets {
			d.Durations = append(d.Durations, Duration{Bucket: b.name})
		}
	}
	for i := range d.Durations {
		if d.Durations[i].Bucket == r.bucket {
			d.Durations[i].Calls += r.calls
		}
	}
}

func (c *Counters) add(r row) {
	c.Calls += r.calls
	c.Results += r.results
	c.Output += r.output
	c.Context += r.delivered
	c.Matched += r.matched
	for _, class := range []struct {
		is, name string
		sum      *int64
	}{
		{r.outcome, success, &c.Successful}, {r.outcome, failure, &c.Failed},
		{r.value, resultBearing, &c.ResultBearing}, {r.value, empty, &c.Empty}, {r.value, notApplicable, &c.NotApplicable},
		{r.coverage, complete, &c.Covered}, {r.coverage, unavailable, &c.Uncovered},
	} {
		if class.is == class.name {
			*class.sum += r.calls
		}
	}
}

// Estimates turn bytes into tokens. They are guesses with a range; the counters are facts.
type Estimates struct {
	Tokens    Tokens    `json:"approximate_context_tokens"`
	Reduction Reduction `json:"estimated_context_reduction"`
}

// Range is an estimated number of tokens.
type Range struct {
	Low     int64 `json:"low"`
	Central int64 `json:"central"`
	High    int64 `json:"high"`
}

// Tokens is about the snippets that searches delivered.
type Tokens struct {
	Coefficient int   `json:"coefficient_version"`
	Context     int64 `json:"delivered_context_bytes"`
	Range
}

// Reduction compares the snippets of covered searches with the whole sessions behind them.
type Reduction struct {
	Model       int   `json:"estimate_model_version"`
	Coefficient int   `json:"coefficient_version"`
	Covered     int64 `json:"covered_calls"`
	Uncovered   int64 `json:"unavailable_calls"`
	Baseline    int64 `json:"comparison_baseline_bytes"`
	Observed    int64 `json:"observed_delivered_context_bytes"`
	Avoided     int64 `json:"estimated_avoided_context_bytes"`
	Range
}

// tokens uses coefficient version 1: five, four and three bytes a token.
func tokens(bytes int64) Range { return Range{Low: bytes / 5, Central: bytes / 4, High: bytes / 3} }

func estimate(definitions []*Definition, covered int64) *Estimates {
	e := &Estimates{Tokens: Tokens{Coefficient: 1}, Reduction: Reduction{Model: 1, Coefficient: 1, Observed: covered}}
	for _, d := range definitions {
		e.Tokens.Context += d.Summary.Context
		e.Reduction.Covered += d.Summary.Covered
		e.Reduction.Uncovered += d.Summary.Uncovered
		e.Reduction.Baseline += d.Summary.Matched
	}
	e.Tokens.Range = tokens(e.Tokens.Context)
	e.Reduction.Avoided = max(0, e.Reduction.Baseline-covered)
	e.Reduction.Range = tokens(e.Reduction.Avoided)
	return e
}
