package refresh

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/agenthistory/ctx/host/internal/onscreen"
)

// Classes of source failures.
const (
	classUnreadable  = "unreadable"
	classVanished    = "vanished"
	classChanged     = "changed"
	classMalformed   = "malformed_source"
	classUnsupported = "unsupported_schema"
	classInternal    = "internal"
)

// maxDetail bounds a sentence of a provider in bytes.
const maxDetail = 512

// failure is what a run could not read.
type failure struct {
	ReceiptError
	provider string
	standing bool // of an earlier run: the source looks the same, so it was not read again
}

// lasts tells whether a source that failed like this fails again as long as it looks the same. Rights, say, change without a trace.
func (f *failure) lasts() bool {
	return f.Seen != "" && (f.Class == classMalformed || f.Class == classUnsupported || f.Class == classInternal)
}

// seen digests what a source looks like to its present parser.
func (i *item) seen() string {
	sum := sha256.Sum256(append([]byte(i.format.revision+"\x00"), i.wire.GetObservation()...))
	return hex.EncodeToString(sum[:12])
}

// standingFailure returns the failure of an earlier run that reading the source again would only repeat, nil when there is none. A run
// that the user asked for reads everything.
func (r *run) standingFailure(i *item) *failure {
	if r.receipt == nil || r.req.Reset || r.req.Trigger == "import" || r.req.Trigger == "setup" {
		return nil
	}
	if r.lasting == nil {
		r.lasting = map[string]ReceiptError{}
		for _, p := range r.receipt.Providers {
			for _, f := range p.Lasting {
				r.lasting[f.Source] = f
			}
		}
	}
	f, ok := r.lasting[i.source.String()]
	if !ok || f.Seen != i.seen() {
		return nil
	}
	f.Path, f.Carried = i.path(), i.cert != nil
	return &failure{f, i.provider.id, true}
}

// failed makes the provider as a whole a failure.
func (p *provider) failed(detail string) {
	p.failure = p.failing(detail)
}

func (p *provider) failing(detail string) *failure {
	return &failure{provider: p.id, ReceiptError: ReceiptError{Source: p.id, Class: classInternal, Detail: detail}}
}

// crash tells that the process of the provider stopped while it read, nil when it did not.
func (p *provider) crash() *failure {
	if p.crashes == 0 {
		return nil
	}
	return p.failing(fmt.Sprintf(
		"the provider process stopped in mid-scan, %d times in this run; it was started again and only the sources it had begun failed", p.crashes))
}

// abandon fails a source: what this run stored of it is dropped, what was stored before stays.
func (r *run) abandon(s *scan, class, detail string) {
	if detail == "" {
		detail = "the source could not be read"
	}
	s.failure = &failure{provider: s.provider.id, ReceiptError: ReceiptError{
		Source: s.source.String(), Path: s.path(), Class: class, Detail: detail, Carried: s.item.cert != nil,
	}}
	if s.begun || class != classInternal { // a source that was never begun is not to blame
		s.failure.Seen = s.seen()
	}
	r.meter.read(s)
	if s.writer != nil {
		r.finishing.Go(s.writer.Abort)
	}
}

// blame fails a source for what its provider said about it.
func (r *run) blame(s *scan, err error) {
	r.log("provider %s: source %s: %v", s.provider.id, s.source, err)
	r.abandon(s, classInternal, "the provider contradicts itself about this source, so nothing of it was taken; report it to the provider's makers: "+
		oneLine(err.Error()))
}

// oneLine makes a sentence of a provider fit for a report: one line, bounded, valid text.
func oneLine(text string) string { return strings.TrimSpace(onscreen.Plain(text, maxDetail)) }
