package refresh

import (
	"cmp"
	"slices"

	"github.com/agenthistory/ctx/host/core"
)

// report describes a run that came to its end, and keeps its receipt.
func (r *run) report(published core.Publication) (*Report, error) {
	failures := r.failures()
	all := r.count("")
	rep := &Report{Summary: Summary{SchemaVersion: 2, Resume: r.req.Resume, ResumeMode: "normal_scan"}, Generation: published.Generation}
	if r.req.Resume {
		rep.ResumeMode = "idempotent_rescan"
	}
	rep.Unsettled = slices.ContainsFunc(r.tally.routes, func(s core.Route) bool { return s.Absent > 0 && s.Absent < absencesUntilGone })
	rep.conclude(all, failures, r.useful())
	r.fillTotals(&rep.Totals, all)
	if err := r.fillCurrent(&rep.Totals.Current); err != nil {
		return nil, err
	}
	if r.scope.explicit != nil {
		rep.Path = r.pathRow(rep, published)
	} else {
		for _, p := range r.providers {
			if r.scope.covers(p.id) && (len(p.routes) > 0 || p.failure != nil) {
				rep.Providers = append(rep.Providers, r.providerRow(p, published))
			}
		}
	}
	for _, f := range failures {
		rep.Failures = append(rep.Failures, f.row())
	}
	for _, d := range r.diagnostics() {
		rep.Rejections = append(rep.Rejections, d.row())
	}
	rep.Receipt = r.keepReceipt(rep, failures)
	return rep, nil
}

// useful reports whether anything of the scope could be read or is up to date.
func (r *run) useful() bool {
	return r.tally.unchanged > 0 || r.tally.changed > 0 ||
		slices.ContainsFunc(r.providers, func(p *provider) bool { return p.limited }) ||
		slices.ContainsFunc(r.tally.scans, func(s *scan) bool { return s.stored != nil || s.same || s.lost })
}

// conclude sets outcome, scope and type from what failed and what was rejected.
func (rep *Report) conclude(c counts, failures []*failure, useful bool) {
	rejected, failed := c.RejectedRecords > 0, len(failures) > 0
	rep.FailureScope, rep.FailureType = scopeAndType(rejected, failed)
	rep.Outcome = map[string]Outcome{
		"none": Success, "record": WithRejections, "source": WithFailures, "record_and_source": WithRejectionsFailures,
	}[rep.FailureScope]
	if failed && !useful {
		rep.Outcome = Failure
	}
	supported := func(f *failure) bool { return f.Class != classUnsupported }
	if rep.Outcome == Failure && !slices.ContainsFunc(failures, supported) {
		rep.FailureType = classUnsupported
	}
}

func scopeAndType(rejected, failed bool) (scope, kind string) {
	switch {
	case rejected && failed:
		return "record_and_source", "record_rejection_and_source_failure"
	case failed:
		return "source", "source_failure"
	case rejected:
		return "record", "record_rejection"
	}
	return "none", "none"
}

func statusOf(rejected, failed bool) RowStatus {
	scope, kind := scopeAndType(rejected, failed)
	s := RowStatus{Status: string(Success), FailureScope: scope, FailureType: kind}
	switch {
	case failed:
		s.Status = string(Failure)
	case rejected:
		s.Status = string(WithRejections)
	}
	return s
}

func (r *run) change() string {
	if r.tally.changed > 0 || slices.ContainsFunc(r.tally.scans, func(s *scan) bool { return s.stored != nil }) {
		return Changed
	}
	return NoOp
}

func (r *run) fillTotals(t *Totals, c counts) {
	t.Change = r.change()
	t.RemovedSources, t.GoneSources = r.tally.removed, r.tally.gone
	t.Work = c.Work
	t.Rejections.Sources, t.Rejections.RejectedRecords = c.RejectedSources, c.RejectedRecords
	t.ImportedSessions, t.ImportedEdges = c.sessions, c.edges
	t.SkippedSessions, t.SkippedEvents, t.Skipped = c.skipped, c.doubles, c.skipped+c.doubles
}

// fillCurrent describes the generation that is active after the run.
func (r *run) fillCurrent(c *Current) error {
	m := r.manifest()
	if !r.tally.published && r.base != nil { // a merge that another run left
		r.tally.mergeDue = r.mergeDue(r.base)
	}
	if r.tally.published {
		g, err := r.req.Store.Pin(r.ctx)
		if err != nil {
			return err
		}
		defer g.Close()
		m, r.tally.mergeDue = g.Manifest(), r.mergeDue(g)
	}
	if m == nil {
		return nil
	}
	with := uint64(0)
	for _, cert := range r.stored {
		if cert.Counts.Rejected > 0 && !cert.dropped {
			with++
		}
	}
	for _, s := range r.tally.scans {
		if s.stored == nil {
			continue
		}
		if s.item.cert != nil && s.item.cert.Counts.Rejected > 0 {
			with--
		}
		if s.stored.Counts.Rejected > 0 {
			with++
		}
	}
	s := m.Stats
	*c = Current{
		Sources: &s.Sources, IndexedDocuments: &s.Events, CompleteRecords: &s.Complete, RetainedRecords: &s.Retained,
		Rejected: &s.Rejected, IgnoredRecords: &s.Ignored, CertifiedBytes: &s.CertifiedBytes, SourcesWithRejections: &with,
	}
	if r.partial { // not all of them were looked at
		c.SourcesWithRejections = nil
	}
	return nil
}

// mergeDue tells whether this run, or who asked for it, should merge. A search waits, so it leaves that to others while it can.
func (r *run) mergeDue(g *core.Generation) bool {
	if r.req.Trigger == "search" && !r.req.MergeLater {
		return g.MergeOverdue()
	}
	return g.MergeDue()
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (r *run) providerRow(p *provider, published core.Publication) *ProviderRow {
	c := r.count(p.id)
	row := &ProviderRow{
		RowStatus: statusOf(c.RejectedRecords > 0, c.FailedSources > 0), Provider: p.id,
		SourceFormat: "provider_authoritative_all", PreviousGeneration: optional(published.Previous),
		PublishedGeneration: optional(published.Generation), GenerationChanged: published.Generation != published.Previous,
		Change: NoOp, Routes: c.routes, FailedRoutes: c.failedRoutes, Work: c.Work,
	}
	if c.ImportedSources > 0 {
		row.Change = Changed
	}
	return row
}

func (r *run) pathRow(rep *Report, published core.Publication) *PathRow {
	route := r.scope.explicit
	row := &PathRow{
		RowStatus: statusOf(rep.Totals.RejectedRecords > 0, rep.Outcome == Failure), Provider: route.Provider, Path: route.Path,
		SourceFormat: route.Format, PreviousGeneration: optional(published.Previous),
		PublishedGeneration: optional(published.Generation), GenerationChanged: published.Generation != published.Previous,
		RejectionDiagnostics: []Diagnostic{}, Change: rep.Totals.Change, Current: rep.Totals.Current,
	}
	for _, p := range r.providers {
		for _, i := range p.items {
			row.SourceFiles++
			row.SourceBytes += i.wire.GetSize()
			if row.SourceFormat == "" {
				row.SourceFormat = i.wire.GetFormat()
			}
		}
	}
	row.RejectionDiagnostics = append(row.RejectionDiagnostics, r.diagnostics()...)
	return row
}

func (f *failure) row() *FailureRow {
	detail := f.Detail
	if f.standing {
		detail += " (unchanged since then, so it was not read again)"
	}
	row := &FailureRow{
		RowStatus:      RowStatus{Status: string(Failure), FailureScope: "source", FailureType: "source_failure"},
		SourceIdentity: f.Source, Provider: f.provider, Class: f.Class, CarriedForward: f.Carried, Selector: f.Path, Detail: detail,
		Error: f.provider + ": " + detail,
	}
	if f.Class == classUnsupported {
		row.FailureType = classUnsupported
	}
	return row
}

// diagnostics lists the rejected records of the run, at most core.MaxRejections of a source.
func (r *run) diagnostics() []Diagnostic {
	var out []Diagnostic
	for _, s := range r.tally.scans {
		if s.failure != nil && s.failure.Class != classMalformed || s.same {
			continue
		}
		for _, d := range s.rejections {
			out = append(out, Diagnostic{s.source.String(), RejectedRecord{s.provider.id, sourcePath(s.route.Path, d.Locator), d}})
		}
	}
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return out
}

func (d Diagnostic) row() *RejectionRow {
	return &RejectionRow{
		RowStatus{"rejection", "record", "record_rejection"}, d.RejectedRecord, d.Provider + ": a record was rejected: " + d.Detail,
	}
}
