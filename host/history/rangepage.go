package history

import (
	"context"
	"strconv"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/nullable"
)

// RangePage is one page of a listing.
type RangePage struct {
	r        *Range
	rows     []listed
	terminal bool // nothing follows the last row
	limited  bool // the limit of the request ended the page
}

// Page reads the next page.
func (r *Range) Page(ctx context.Context, limits PageLimits) (*RangePage, error) {
	rows, err := r.fill(ctx, limits)
	if err != nil {
		return nil, err
	}
	next, err := r.peek()
	if err != nil {
		return nil, err
	}
	return &RangePage{r: r, rows: rows, terminal: next == nil, limited: r.items == r.plan.limit}, nil
}

// Len is the number of rows.
func (p *RangePage) Len() int { return len(p.rows) }

// EventID names the event of row i.
func (p *RangePage) EventID(i int) string { return p.rows[i].key.Event().String() }

// AppendJSON appends the event_range_page object (compact, without newline). Nulls are kept.
func (p *RangePage) AppendJSON(dst []byte) ([]byte, error) { return p.AppendPrefix(dst, len(p.rows)) }

// AppendPrefix appends the page as if it had ended after n rows, for a caller that must fit a response. A page of rows cannot be
// cut to none, because nothing would follow from it.
func (p *RangePage) AppendPrefix(dst []byte, n int) ([]byte, error) {
	if n < 0 || n > len(p.rows) || n == 0 && len(p.rows) > 0 {
		return dst, rangeFault(InvalidPage, "a page of %d events cannot end after %d", len(p.rows), n)
	}
	whole := n == len(p.rows)
	terminal, cursor := p.terminal && whole, ""
	if !terminal && n > 0 {
		cursor = p.r.cursorAfter(p.rows[n-1].key)
	}
	start := len(dst)
	dst = append(dst, `{"schema_version":1,"payload_type":"event_range_page"`...)
	dst, err := p.r.appendState(dst, terminal, p.limited && whole && !p.terminal, cursor)
	if err != nil {
		return dst[:start], err
	}
	dst = append(dst, `,"events":[`...)
	var u usage
	for i, l := range p.rows[:n] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, l.row...)
		u.add(l)
	}
	dst = append(dst, ']')
	u.pages = 1
	dst = u.append(dst, len(dst)-start, `,"oversized_singleton":`+strconv.FormatBool(n == 1 && oversized(p.rows[0]))+`}}`)
	if size := len(dst) - start; size > maxRendered {
		return dst[:start], fault.New(fault.OutputLimitExceeded, "a page of %d bytes is more than the %d that one answer may have", size, maxRendered).WithRetry(true)
	}
	return dst, nil
}

func oversized(l listed) bool { return l.encoded > pageSoftSize || l.content > pageSoftSize }

// rangeState is what a page and a completion say of the listing and of how far it came.
type rangeState struct {
	Generation string         `json:"generation_id"`
	Domain     any            `json:"domain"`
	Filters    map[string]any `json:"filters"`
	Direction  string         `json:"direction"`
	Content    string         `json:"content"`
	Limit      int64          `json:"limit"`
	Terminal   bool           `json:"terminal"`
	Truncated  bool           `json:"truncated"`
	Cursor     nullable.Text  `json:"next_cursor"`
	Freshness  rangeFreshness `json:"freshness"`
	Frontier   rangeFrontier  `json:"frontier"`
}

type rangeFreshness struct {
	Mode        string `json:"mode"`
	Status      string `json:"status"`
	SourceCount uint64 `json:"source_count"`
	ReadOnly    bool   `json:"read_only"`
}

type rangeFrontier struct {
	Generation string        `json:"generation_id"`
	Cursor     nullable.Text `json:"cursor"`
	Status     string        `json:"status"`
	Certified  uint64        `json:"certified_sources"`
	Frontiers  uint64        `json:"sources_with_frontier"`
	Bytes      uint64        `json:"certified_bytes"`
}

// appendState appends the members of the state, with a leading comma.
func (r *Range) appendState(dst []byte, terminal, truncated bool, after string) ([]byte, error) {
	stats, id, cursor := r.view.gen.Manifest().Stats, r.view.gen.ID(), nullable.Text(after)
	status := "partial"
	switch stats.Frontiers {
	case 0:
		status = "unavailable"
	case stats.Sources:
		status = "available"
	}
	object, err := appendJSON(nil, rangeState{
		id, r.plan.domain(), r.plan.filters, r.plan.direction(), r.plan.content.String(), r.plan.limit, terminal, truncated, cursor,
		rangeFreshness{Mode: "pinned", Status: "not_checked", SourceCount: stats.Sources, ReadOnly: true},
		rangeFrontier{id, cursor, status, stats.Sources, stats.Frontiers, stats.CertifiedBytes},
	})
	if err != nil {
		return dst, err
	}
	return append(append(dst, ','), object[1:len(object)-1]...), nil
}

// usage counts what a page or a stream holds.
type usage struct {
	items, pages, encoded, content uint64
}

func (u *usage) add(l listed) {
	u.items++
	u.encoded += l.encoded
	u.content += l.content
}

// append appends the usage member and tail. bytes counts what is written before this member; the member itself, tail and the newline
// behind it count too, so its own length is found by trying.
func (u *usage) append(dst []byte, bytes int, tail string) []byte {
	dst = append(dst, `,"usage":{"items":`...)
	before := len(`,"usage":{"items":`)
	mark := len(dst)
	dst = strconv.AppendUint(dst, u.items, 10)
	dst = appendCount(dst, "pages", u.pages)
	dst = append(dst, `,"bytes":`...)
	before += len(dst) - mark
	rest := appendCount(nil, "encoded_core_bytes", u.encoded)
	rest = appendCount(rest, "content_bytes", u.content)
	rest = append(rest, tail...)
	fixed := bytes + before + len(rest) + 1
	total := fixed
	for n := 0; n != total; {
		n = total
		total = fixed + len(strconv.Itoa(n))
	}
	dst = strconv.AppendInt(dst, int64(total), 10)
	return append(dst, rest...)
}
