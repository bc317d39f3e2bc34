package history

import (
	"context"
	"io"
	"strconv"

	"github.com/agenthistory/ctx/host/fault"
)

// maxWireRecord is the most one line of a stream may have: the largest stored record with every byte escaped, and its frame.
const maxWireRecord = 6*64<<20 + 1<<20

// WriteJSONL writes every remaining event up to the limit, one event_range_event record a line with ordinals from 0, then exactly one
// event_range_completion. flush (may be nil) is called after every record. A stream without the completion is incomplete.
func (r *Range) WriteJSONL(ctx context.Context, w io.Writer, flush func() error) error {
	s := rangeStream{r: r, w: w, flush: flush}
	for {
		rows, err := r.fill(ctx, PageLimits{})
		if err != nil {
			return err
		}
		if len(rows) == 0 && s.items > 0 {
			break
		}
		s.pages++
		if len(rows) == 1 && oversized(rows[0]) {
			s.oversized++
		}
		for _, l := range rows {
			if err := s.event(l); err != nil {
				return err
			}
		}
		next, err := r.peek()
		if err != nil {
			return err
		}
		if next == nil || r.items == r.plan.limit {
			break
		}
		if len(rows) == 0 {
			return rangeFault(InvalidPage, "a page made no progress")
		}
	}
	return s.complete()
}

type rangeStream struct {
	usage
	r         *Range
	w         io.Writer
	flush     func() error
	written   int
	oversized uint64
	last      string // cursor behind the last event
	buf       []byte
}

func (s *rangeStream) event(l listed) error {
	s.buf = appendText(append(s.buf[:0], `{"schema_version":1,"record_type":"event_range_event"`...), "generation_id", s.r.view.gen.ID())
	s.buf = append(appendName(appendCount(s.buf, "ordinal", s.items), "event"), l.row...)
	s.buf = append(s.buf, "}\n"...)
	if len(s.buf) > maxWireRecord {
		return rangeFault(ResourceLimit, "one record has %d bytes, more than a line may have", len(s.buf)).
			WithHint("use --content text or --content none")
	}
	s.add(l)
	s.last = s.r.cursorAfter(l.key)
	return s.write(s.buf)
}

func (s *rangeStream) write(line []byte) error {
	n, err := s.w.Write(line)
	s.written += n
	if err == nil && s.flush != nil {
		err = s.flush()
	}
	if err != nil {
		return fault.Wrap(err, OutputFailed, "the output could not be written").WithRetry(false)
	}
	return nil
}

func (s *rangeStream) complete() error {
	next, err := s.r.peek()
	if err != nil {
		return err
	}
	cursor := ""
	if next != nil {
		cursor = s.last
	}
	line, err := s.r.appendState([]byte(`{"schema_version":1`), next == nil, next != nil, cursor)
	if err != nil {
		return err
	}
	line = append(line, `,"record_type":"event_range_completion"`...)
	line = s.usage.append(line, s.written+len(line), `,"oversized_singleton_pages":`+strconv.FormatUint(s.oversized, 10)+`}}`)
	return s.write(append(line, '\n'))
}
