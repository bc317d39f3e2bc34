package status

import "github.com/agenthistory/ctx/host/refresh"

const (
	statePublished = "published"
	stateFailed    = "failed"
)

// observeRefresh tells how the last refresh ended. A refresh that nobody has seen, or whose receipt cannot be read, is unavailable.
func observeRefresh(x *index, receipt *refresh.Receipt, err error) Refresh {
	r := Refresh{Status: "unavailable", Reason: "refresh_not_observed", GenerationID: x.id}
	switch {
	case err != nil:
		r.Reason = "refresh_state_missing"
		return r
	case receipt == nil:
		return r
	}
	outcome := string(receipt.Outcome)
	r.RequestState, r.Outcome, r.Standing.Outcome = receipt.State, outcome, receipt.Outcome.Structured()
	r.PublishedGeneration = receipt.Generation
	r.GenerationMatches = x.open && receipt.Generation == x.id
	r.SourceCount, r.CertifiedSourceCount, r.CertifiedSourceBytes = &receipt.Sources, &receipt.Certified, &receipt.CertifiedBytes
	r.ScannedRoutes, r.UnsupportedRoutes = &receipt.Routes, &receipt.Unsupported
	r.SourceFailureTotal, r.RejectedRecordTotal = &receipt.Failed, &receipt.Rejected
	r.Trigger = receipt.Trigger
	r.TimingsMicros = &receipt.Timings
	switch receipt.State {
	case statePublished:
		r.Status, r.Reason = "ready", ""
		if receipt.Failed > 0 {
			r.Status, r.Reason = "partial", outcome
		}
	case stateFailed:
		r.Status, r.Reason = "stale", "core_refresh_failed"
		if !x.open {
			r.Status = "unavailable"
		}
	default:
		r.Reason = "refresh_state_unrecognized"
	}
	return r
}
