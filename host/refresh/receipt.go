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
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/sources"
)

const (
	receiptSchema      = 1
	receiptFile        = "refresh.json"
	maxReceiptFailures = 16
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

	// Sums over the providers, and over the generation.
	Sources        uint64 `json:"source_count"` // of the last inventories
	Certified      uint64 `json:"certified_source_count"`
	CertifiedBytes uint64 `json:"certified_source_bytes"`
	ScannedRoutes  uint64 `json:"scanned_routes"`
	Unsupported    uint64 `json:"unsupported_routes"`
	Failed         uint64 `json:"source_failure_total"`
	Stale          uint64 `json:"stale_source_total"`
	Rejected       uint64 `json:"rejected_record_total"`
}

// ProviderReceipt is the part of a receipt about one provider.
type ProviderReceipt struct {
	Sources     uint64         `json:"source_count"`
	Routes      uint64         `json:"scanned_routes"`
	Unsupported uint64         `json:"unsupported_routes"`
	Failed      uint64         `json:"source_failure_total"`
	Stale       uint64         `json:"stale_source_total"` // failed ones whose old records were carried forward
	Failures    []ReceiptError `json:"failures,omitempty"` // at most 16
}

// ReceiptError is one failed source.
type ReceiptError struct {
	Source string `json:"source_identity"`
	Class  string `json:"class"`
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
	f, err := os.Open(filepath.Join(c.DataRoot, "core", receiptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.ResourceUnavailable, "the receipt of the last refresh cannot be read")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxReceiptBytes {
		return nil, nil
	}
	receipt := new(Receipt)
	if json.NewDecoder(f).Decode(receipt) != nil || receipt.SchemaVersion != receiptSchema {
		return nil, nil
	}
	return receipt, nil
}

// keepReceipt stores what later readers want to know of the run, unless that says the same as the receipt that is there: a run
// that finds nothing new writes nothing.
func (r *run) keepReceipt(rep *Report, all counts, failures []*failure) (Receipt, error) {
	before, err := LastReceipt(r.req.Config)
	if err != nil {
		return Receipt{}, err
	}
	next := Receipt{
		SchemaVersion: receiptSchema, State: "published", Outcome: rep.Outcome, Trigger: r.req.Trigger,
		FinishedAtMS: time.Now().UnixMilli(), Generation: rep.Generation, Providers: map[string]ProviderReceipt{}, Timings: r.timings,
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
			}
		}
	}
	next.sum(&rep.Totals.Current)
	if before != nil && before.means() == next.means() && reflect.DeepEqual(before.Providers, next.Providers) {
		return next, nil // the stored one says the same, and a run that found nothing new writes nothing
	}
	if rep.Generation == "" && before == nil && len(failures) == 0 {
		return next, nil
	}
	return next, next.write(r.req.Store.Dir())
}

func (r *run) providerReceipt(p *provider, failures []*failure) ProviderReceipt {
	out := ProviderReceipt{Sources: uint64(len(p.items)), Routes: uint64(len(p.routes))}
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
		if f.carried {
			out.Stale++
		}
		if len(out.Failures) < maxReceiptFailures {
			out.Failures = append(out.Failures, ReceiptError{f.identity, f.class})
		}
	}
	return out
}

func (t *Receipt) sum(c *Current) {
	for _, p := range t.Providers {
		t.Sources += p.Sources
		t.ScannedRoutes += p.Routes
		t.Unsupported += p.Unsupported
		t.Failed += p.Failed
		t.Stale += p.Stale
	}
	if c.Sources != nil {
		t.Certified, t.CertifiedBytes, t.Rejected = *c.Sources, *c.CertifiedBytes, *c.RejectedRecords
	}
}

// meaning is the part of a receipt that can be compared: neither when, nor why, nor how fast.
type meaning struct {
	outcome                                     Outcome
	generation                                  string
	certified, bytes, rejected, sources, failed uint64
}

func (t *Receipt) means() meaning {
	return meaning{t.Outcome, t.Generation, t.Certified, t.CertifiedBytes, t.Rejected, t.Sources, t.Failed}
}

// write replaces the receipt at once: readers see the old or the new one.
func (t *Receipt) write(dir string) error {
	text, err := json.Marshal(t)
	if err != nil {
		return fault.From(err)
	}
	failed := func(err error) error {
		return fault.Wrap(err, fault.ResourceUnavailable, "the receipt of the refresh could not be written").WithRetry(true)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed(err)
	}
	temp, err := os.CreateTemp(dir, "."+receiptFile+"-*")
	if err != nil {
		return failed(err)
	}
	_, err = temp.Write(append(text, '\n'))
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp.Name(), filepath.Join(dir, receiptFile))
	}
	if err != nil {
		os.Remove(temp.Name())
		return failed(err)
	}
	return nil
}
