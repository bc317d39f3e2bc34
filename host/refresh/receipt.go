package refresh

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/sources"
)

const (
	receiptSchema      = 1
	receiptFile        = "refresh.json"
	maxReceiptFailures = 16
	maxLasting         = 256
	maxReceiptBytes    = 1 << 20
)

// Receipt tells how the last run ended. It is kept beside the generations, because a generation holds content only and no clock.
// A run over one provider renews what concerns that provider.
type Receipt struct {
	SchemaVersion int                        `json:"schema_version"`
	State         string                     `json:"state"` // published or failed
	Outcome       Outcome                    `json:"outcome"`
	Trigger       string                     `json:"trigger"`
	FinishedAtMS  int64                      `json:"finished_at_ms"`
	Generation    string                     `json:"generation"`
	Providers     map[string]ProviderReceipt `json:"providers"`
	Timings       Timings                    `json:"timings_us"`
	// Looked tells, of a run that was limited to changed files, at what of each provider it looked: "changed files", or "everything"
	// and why.
	Looked map[string]string `json:"looked_at,omitempty"`

	ReceiptCounts         // of all providers
	Certified      uint64 `json:"certified_source_count"` // of the generation
	CertifiedBytes uint64 `json:"certified_source_bytes"`
	Rejected       uint64 `json:"rejected_record_total"`
}

// ReceiptCounts are the counts of a receipt over one provider, or all.
type ReceiptCounts struct {
	Sources     uint64 `json:"source_count"` // of the last inventories
	Routes      uint64 `json:"scanned_routes"`
	Unsupported uint64 `json:"unsupported_routes"`
	Failed      uint64 `json:"source_failure_total"`
	Stale       uint64 `json:"stale_source_total"` // failed ones whose old records were carried forward
}

// ProviderReceipt is the part of a receipt about one provider.
type ProviderReceipt struct {
	ReceiptCounts
	Failures []ReceiptError `json:"failures,omitempty"` // at most 16
	// Lasting holds at most 256 sources that are not read again before they change or the user asks for it.
	Lasting []ReceiptError `json:"lasting,omitempty"`
}

// ReceiptError is one source, route or provider that could not be read.
type ReceiptError struct {
	Source string `json:"source_identity"` // uuid of a source, id of a route, or the provider
	Class  string `json:"class"`
	Path   string `json:"path,omitempty"`
	Detail string `json:"detail"`
	// Seen is what a lasting one looked like, "" when that is no reason to leave it alone.
	Seen string `json:"seen,omitempty"`
	// Carried: records of an earlier run stay.
	Carried bool `json:"carried_forward,omitempty"`
}

// Timings in microseconds.
type Timings struct {
	Discovery int64 `json:"discovery"`
	Inventory int64 `json:"inventory"`
	Scan      int64 `json:"scan"`
	Publish   int64 `json:"publish"`
	Total     int64 `json:"total"`
}

// LastReceipt reads the receipt of a data root. Nil without error: no run has ended yet, or its receipt cannot be used.
func LastReceipt(c *config.Config) (*Receipt, error) {
	text, err := durable.ReadFile(filepath.Join(c.DataRoot, "core", receiptFile), maxReceiptBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.ResourceUnavailable, "the receipt of the last refresh cannot be read")
	}
	receipt := new(Receipt)
	if json.Unmarshal(text, receipt) != nil || receipt.SchemaVersion != receiptSchema {
		return nil, nil
	}
	return receipt, nil
}

// keepReceipt stores what later readers want to know of the run, unless that says the same as the receipt that is there: a run
// that finds nothing new writes nothing. A receipt that cannot be kept does not undo the run: it is told in the log.
func (r *run) keepReceipt(rep *Report, failures []*failure) Receipt {
	before := r.receipt
	next := Receipt{
		SchemaVersion: receiptSchema, State: "published", Outcome: rep.Outcome, Trigger: r.req.Trigger,
		FinishedAtMS: time.Now().UnixMilli(), Generation: rep.Generation, Providers: map[string]ProviderReceipt{}, Timings: r.timings,
		Looked: map[string]string{},
	}
	if rep.Outcome == Failure {
		next.State = "failed"
	}
	next.Timings.Total = time.Since(r.meter.started).Microseconds()
	if before != nil {
		for id, p := range before.Providers {
			if !r.scope.exhaustive() || !r.scope.covers(id) {
				next.Providers[id] = p
			}
		}
	}
	if r.scope.exhaustive() {
		for _, p := range r.providers {
			if r.scope.covers(p.id) && (len(p.routes) > 0 || p.failure != nil) {
				next.Providers[p.id] = r.providerReceipt(p, failures)
				if p.looked != "" {
					next.Looked[p.id] = p.looked
				}
			}
		}
	}
	next.sum(&rep.Totals.Current)
	if worse, ok := map[Outcome]Outcome{Success: WithFailures, WithRejections: WithRejectionsFailures}[next.Outcome]; ok && next.Failed > 0 {
		next.Outcome = worse // a provider that this run did not look at
	}
	same := before != nil && before.says(next)
	if !same && (rep.Generation != "" || before != nil || len(failures) > 0) {
		if err := next.write(r.req.Store.Dir()); err != nil {
			r.log("the receipt of the refresh cannot be written: %v", err)
		}
	}
	return next
}

func (r *run) providerReceipt(p *provider, failures []*failure) ProviderReceipt {
	out := ProviderReceipt{ReceiptCounts: ReceiptCounts{Sources: uint64(len(p.items)), Routes: uint64(len(p.routes))}}
	if p.limited { // the others are where they were
		out.Sources = r.receipt.Providers[p.id].Sources
		for _, i := range p.items {
			if i.cert == nil {
				out.Sources++
			}
		}
	}
	for _, s := range p.routes {
		if s.Status == sources.Unsupported {
			out.Unsupported++
		}
	}
	for _, f := range failures {
		if f.provider != p.id {
			continue
		}
		out.Failed++
		if f.Carried {
			out.Stale++
		}
		if f.lasts() && len(out.Lasting) < maxLasting {
			out.Lasting = append(out.Lasting, f.ReceiptError)
		}
		if len(out.Failures) < maxReceiptFailures {
			e := f.ReceiptError
			e.Seen = ""
			out.Failures = append(out.Failures, e)
		}
	}
	return out
}

func (t *Receipt) sum(c *Current) {
	for _, p := range t.Providers {
		t.Sources += p.Sources
		t.Routes += p.Routes
		t.Unsupported += p.Unsupported
		t.Failed += p.Failed
		t.Stale += p.Stale
	}
	if c.Sources != nil {
		t.Certified, t.CertifiedBytes, t.Rejected = *c.Sources, *c.CertifiedBytes, *c.Rejected
	}
}

// says reports whether two receipts tell the same, apart from when, why and how fast.
func (t Receipt) says(o Receipt) bool {
	t.State, t.Trigger, t.FinishedAtMS, t.Timings, t.Looked = o.State, o.Trigger, o.FinishedAtMS, o.Timings, o.Looked
	return reflect.DeepEqual(t, o)
}

// write replaces the receipt at once: readers see the old or the new one.
func (t *Receipt) write(dir string) error {
	text, err := json.Marshal(t)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, receiptFile), append(text, '\n'), 0o600)
}
