package refresh

import "github.com/agenthistory/ctx/host/core"

// Outcome of a run.
type Outcome string

// Outcomes in rising severity.
const (
	Success                Outcome = "success"
	WithRejections         Outcome = "completed_with_rejections"
	WithFailures           Outcome = "completed_with_source_failures"
	WithRejectionsFailures Outcome = "completed_with_rejections_and_source_failures"
	Failure                Outcome = "failure"
)

// Structured is the outcome of a run as the outcome of a refresh, which has more ways to fail than a run that came to its end.
func (o Outcome) Structured() string {
	switch o {
	case Success:
		return "completed"
	case Failure:
		return "source_failures"
	}
	return string(o)
}

// Change values of totals and of exact-path rows.
const (
	Changed = "changed"
	NoOp    = "no_op"
)

// Report tells how a run ended. It travels as it is; Document is what people and programs get to see of it.
type Report struct {
	Summary
	Providers  []*ProviderRow  `json:"providers,omitempty"` // of a run over discovered routes
	Path       *PathRow        `json:"path,omitempty"`      // of an exact path
	Failures   []*FailureRow   `json:"failures,omitempty"`
	Rejections []*RejectionRow `json:"rejections,omitempty"`

	Generation string  `json:"generation"` // id of the generation that is active after the run, "" when there is none
	Receipt    Receipt `json:"receipt"`    // what was stored for later readers
	MergeDue   bool    `json:"-"`          // segments wait to be merged
	Unsettled  bool    `json:"-"`          // a missing place is to be looked at again before its sources count as gone
}

// Summary is what the document says before its rows.
type Summary struct {
	SchemaVersion int     `json:"schema_version"`
	Outcome       Outcome `json:"outcome"`
	FailureScope  string  `json:"failure_scope"` // none, record, source, record_and_source
	FailureType   string  `json:"failure_type"`  // none, record_rejection, source_failure, record_rejection_and_source_failure, unsupported_schema, other
	Resume        bool    `json:"resume"`
	ResumeMode    string  `json:"resume_mode"` // normal_scan, idempotent_rescan
	Totals        Totals  `json:"totals"`
}

// Document is the JSON document of `ctx import`, schema 2.
type Document struct {
	Summary
	// Sources holds rows of several kinds: *ProviderRow, *PathRow, *FailureRow, *RejectionRow.
	Sources []any `json:"sources"`
}

// Document gives the summary, and the rows of all kinds as sources.
func (r *Report) Document() Document {
	d := Document{r.Summary, []any{}}
	if r.Path != nil {
		d.Sources = append(d.Sources, r.Path)
	}
	for _, row := range r.Providers {
		d.Sources = append(d.Sources, row)
	}
	for _, row := range r.Failures {
		d.Sources = append(d.Sources, row)
	}
	for _, row := range r.Rejections {
		d.Sources = append(d.Sources, row)
	}
	return d
}

// Owner says which process served a request, and for whom.
type Owner struct {
	Owner      string `json:"owner"`
	Operation  string `json:"operation,omitempty"`
	Trigger    string `json:"trigger"`
	Provenance string `json:"trigger_provenance"`
}

// Totals counts over all sources of the run, and over the generation that is active after it (current_*).
type Totals struct {
	Change string `json:"change"`
	Current
	RemovedSources uint64 `json:"removed_source_count"`
	GoneSources    uint64 `json:"gone_source_count"` // became gone in this run
	Work
	ImportedSessions uint64 `json:"imported_sessions"`
	ImportedEdges    uint64 `json:"imported_edges"` // parent, root and copy links
	SkippedSessions  uint64 `json:"skipped_sessions"`
	SkippedEvents    uint64 `json:"skipped_events"`
	SkippedEdges     uint64 `json:"skipped_edges"`
	Skipped          uint64 `json:"skipped"`
	Rejections       struct {
		RejectedRecords uint64 `json:"rejected_records"`
		Sources         uint64 `json:"sources_completed_with_rejections"`
	} `json:"rejections"`
}

// Work counts what was read of one provider, or of all.
type Work struct {
	SourceFiles     uint64 `json:"source_files"`
	SourceBytes     uint64 `json:"source_bytes"`
	ImportedSources uint64 `json:"imported_sources"`
	ImportedEvents  uint64 `json:"imported_events"`
	FailedSources   uint64 `json:"failed_sources"`
	RejectedRecords uint64 `json:"rejected_records"`
	RejectedSources uint64 `json:"sources_completed_with_rejections"`
}

// Current describes the active generation. It is left out while there is none.
type Current struct {
	Sources               *uint64 `json:"current_source_count,omitempty"`
	IndexedDocuments      *uint64 `json:"current_indexed_documents,omitempty"`
	CompleteRecords       *uint64 `json:"current_complete_records,omitempty"`
	RetainedRecords       *uint64 `json:"current_retained_records,omitempty"`
	Rejected              *uint64 `json:"current_rejected_records,omitempty"`
	IgnoredRecords        *uint64 `json:"current_ignored_records,omitempty"`
	CertifiedBytes        *uint64 `json:"current_certified_source_bytes,omitempty"`
	SourcesWithRejections *uint64 `json:"current_sources_with_rejections,omitempty"`
}

// RowStatus is shared by all rows of a report.
type RowStatus struct {
	Status       string `json:"status"` // success, completed_with_rejections, failure, rejection
	FailureScope string `json:"failure_scope"`
	FailureType  string `json:"failure_type"`
}

// ProviderRow summarises one provider of a run over discovered routes.
type ProviderRow struct {
	RowStatus
	Provider            string  `json:"provider"`
	SourceFormat        string  `json:"source_format"` // provider_authoritative_all
	PreviousGeneration  *string `json:"previous_generation,omitempty"`
	PublishedGeneration *string `json:"published_generation,omitempty"`
	GenerationChanged   bool    `json:"generation_changed"`
	Change              string  `json:"change"`
	Routes              uint64  `json:"routes"`
	FailedRoutes        uint64  `json:"failed_routes"`
	Work
	RequestID string `json:"daemon_request_id,omitempty"` // of a refresh in the background process
	Request   *Owner `json:"daemon_request_metadata,omitempty"`
}

// PathRow is the row of an exact path.
type PathRow struct {
	RowStatus
	Provider             string       `json:"provider"`
	Path                 string       `json:"path"`
	SourceFormat         string       `json:"source_format"`
	SourceFiles          uint64       `json:"source_files"`
	SourceBytes          uint64       `json:"source_bytes"`
	PreviousGeneration   *string      `json:"previous_generation,omitempty"`
	PublishedGeneration  *string      `json:"published_generation"`
	GenerationChanged    bool         `json:"generation_changed"`
	RejectionDiagnostics []Diagnostic `json:"rejection_diagnostics"`
	Change               string       `json:"change"`
	Current
}

// RejectedRecord says where a rejected record stands and what is wrong with it.
type RejectedRecord struct {
	Provider string `json:"provider"`
	Path     string `json:"path"`
	core.Rejection
}

// Diagnostic is one rejected record of an exact path.
type Diagnostic struct {
	SourceIdentity string `json:"source_identity"`
	RejectedRecord
}

// FailureRow is a source (or a whole route or provider) that failed.
type FailureRow struct {
	RowStatus
	SourceIdentity string `json:"source_identity"` // uuid of the source, or a route id
	Provider       string `json:"provider"`
	Class          string `json:"source_failure_class"`
	CarriedForward bool   `json:"carried_forward"`
	Selector       string `json:"source_selector"` // path of the source
	Detail         string `json:"detail"`
	Error          string `json:"error"`
}

// RejectionRow is one rejected record; at most five of a source.
type RejectionRow struct {
	RowStatus
	RejectedRecord
	Error string `json:"error"`
}
