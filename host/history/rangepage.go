package history

import (
	"context"
	"strconv"

	"github.com/agenthistory/ctx/host/fault"
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
	s := rangeState{terminal: p.terminal && whole, truncated: p.limited && whole && !p.terminal}
	if !s.terminal && n > 0 {
		s.cursor = p.r.cursorAfter(p.rows[n-1].key)
	}
	start := len(dst)
	dst = append(dst, `{"schema_version":1,"payload_type":"event_range_page"`...)
	dst, err := p.r.appendState(dst, s)
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

// rangeState is how far a listing came.
type rangeState struct {
	terminal, truncated bool
	cursor              string // "" is null
}

type rangeFreshness struct {
	Mode        string `json:"mode"`
	Status      string `json:"status"`
	SourceCount uint64 `json:"source_count"`
	ReadOnly    bool   `json:"read_only"`
}

type rangeFrontier struct {
	Generation string  `json:"generation_id"`
	Cursor     *string `json:"cursor"`
	Status     string  `json:"status"`
	Certified  uint64  `json:"certified_sources"`
	Frontiers  uint64  `json:"sources_with_frontier"`
	Bytes      uint64  `json:"certified_bytes"`
}

// appendState appends the members that a page and a completion share, with a leading comma.
func (r *Range) appendState(dst []byte, s rangeState) ([]byte, error) {
	stats := r.view.gen.Manifest().Stats
	var cursor *string
	if s.cursor != "" {
		cursor = &s.cursor
	}
	frontier := rangeFrontier{
		Generation: r.view.gen.ID(), Cursor: cursor, Status: "partial",
		Certified: stats.Sources, Frontiers: stats.Frontiers, Bytes: stats.CertifiedBytes,
	}
	switch stats.Frontiers {
	case 0:
		frontier.Status = "unavailable"
	case stats.Sources:
		frontier.Status = "available"
	}
	for _, m := range []struct {
		name  string
		value any
	}{
		{"generation_id", r.view.gen.ID()}, {"domain", r.plan.domain()}, {"filters", r.plan.filters},
		{"direction", r.plan.direction()}, {"content", r.plan.content.String()}, {"limit", r.plan.limit},
		{"terminal", s.terminal}, {"truncated", s.truncated}, {"next_cursor", cursor},
		{"freshness", rangeFreshness{Mode: "pinned", Status: "not_checked", SourceCount: stats.Sources, ReadOnly: true}},
		{"frontier", frontier},
	} {
		dst = append(dst, `,"`...)
		dst = append(dst, m.name...)
		dst = append(dst, `":`...)
		var err error
		if dst, err = appendJSON(dst, m.value); err != nil {
			return dst, err
		}
	}
	return dst, nil
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
