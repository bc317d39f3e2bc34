package mcp

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/internal/onscreen"
)

func (s *Server) showSession(ctx context.Context, args arguments, f *frame) (*answer, error) {
	if err := args.id("ctx_session_id", "session"); err != nil {
		return nil, err
	}
	p, err := s.archive.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer s.archive.release(p)
	view := p.view(s.Store)
	defer view.Close()
	view.Redact = f.redact
	req := history.PageRequest{MaxBytes: f.most}
	if err := args.into(&req); err != nil {
		return nil, err
	}
	if req.Cursor != "" { // one of an earlier generation is stale, also when its session is gone since
		if err := view.CheckCursor(req.Cursor); err != nil {
			return nil, err
		}
	}
	session, err := view.FindSession(ctx, history.SessionSelector{ID: args.text("ctx_session_id")})
	if err != nil {
		return nil, err
	}
	page, err := view.TranscriptPage(ctx, session, req)
	if err != nil {
		return nil, err
	}
	for {
		a := &answer{text: pageText(view, page, f.most), structured: page.AppendJSON(nil), rows: new(len(page.Rows))}
		size := f.size(a)
		switch n := len(page.Rows); {
		case size <= f.most:
			return a, nil
		case n > 1:
			page.Keep(n - 1)
		case n == 1:
			return nil, eventTooLong(page.Events[0].String(), size, f.most)
		default:
			return nil, tooLongFor(f.most)
		}
	}
}

func (s *Server) showEvent(ctx context.Context, args arguments, f *frame) (*answer, error) {
	if err := args.id("ctx_event_id", "event"); err != nil {
		return nil, err
	}
	var around struct {
		Before int  `json:"before"`
		After  int  `json:"after"`
		Window *int `json:"window"`
	}
	if err := args.into(&around); err != nil {
		return nil, err
	}
	if around.Window != nil {
		around.Before, around.After = *around.Window, *around.Window
	}
	p, err := s.archive.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer s.archive.release(p)
	view := p.view(s.Store)
	defer view.Close()
	view.Redact = f.redact
	found, err := view.Window(ctx, args.text("ctx_event_id"), around.Before, around.After)
	if err != nil {
		return nil, err
	}
	a := &answer{text: windowText(view, found), rows: new(len(found.Events))}
	if a.structured, err = found.AppendJSON(nil); err != nil {
		return nil, err
	}
	if size := f.size(a); size > f.most {
		return nil, eventTooLong(found.Selected.Event.ID.String(), size, f.most)
	}
	return a, nil
}

// eventTooLong blames an event for a response that does not fit.
func eventTooLong(event string, size, most int) error {
	return fault.New(fault.OutputLimitExceeded, "the response with event %s has %d bytes, more than the %d that fit", event, size, most).
		WithRetry(false).With("ctx_event_id", event).With("actual_bytes", size).With("maximum_bytes", most).
		With("remediation", "use a smaller window or a narrower mode; the command line shows events of any size")
}

func tooLongFor(most int) error {
	return fault.New(fault.OutputLimitExceeded, "the response is over the limit of %d bytes", most).WithRetry(false)
}

func (s *Server) queryEvents(ctx context.Context, args arguments, f *frame) (*answer, error) {
	a, err := s.eventPage(ctx, args, f)
	object, ok := history.RangeError(err)
	if !ok {
		return a, err
	}
	return &answer{text: "event query failed: " + onscreen.Line(fault.From(err).Message), structured: object, code: fault.Code(err)}, nil
}

func (s *Server) eventPage(ctx context.Context, args arguments, f *frame) (*answer, error) {
	req, err := rangeRequest(args)
	if err != nil {
		return nil, err
	}
	query, err := req.Check()
	if err != nil {
		return nil, err
	}
	p, err := s.archive.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer s.archive.release(p)
	events, err := query.Events(ctx, s.Store, p.gen)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	events.Redact(f.redact)
	page, err := events.Page(ctx, history.PageLimits{Events: history.PageEvents, RecordBytes: maxLine / 8})
	if err != nil {
		return nil, err
	}
	return fitPage(page, f)
}

// fitPage cuts a page to the longest prefix whose line fits.
func fitPage(page *history.RangePage, f *frame) (*answer, error) {
	var a *answer
	fits := func(n int) (int, error) {
		structured, err := page.AppendPrefix(nil, n)
		if err != nil {
			return 0, err
		}
		whole := &answer{text: rangeText(structured), structured: structured, rows: new(n)}
		size := f.size(whole)
		if size <= f.most {
			a = whole
		}
		return size, nil
	}
	size, err := fits(page.Len())
	if err != nil || a != nil {
		return a, err
	}
	low, high := 0, page.Len() // low rows fit, high do not
	for high-low > 1 {
		n := (low + high) / 2
		if size, err = fits(n); err != nil {
			return nil, err
		}
		if size <= f.most {
			low = n
		} else {
			high = n
		}
	}
	if a != nil {
		return a, nil
	}
	return pageTooLong(page, size, f.most), nil
}

// pageTooLong is about the first event of a page; without one the filters, which the page repeats, are too long.
func pageTooLong(page *history.RangePage, size, most int) *answer {
	message := fmt.Sprintf("the response without any event has %d bytes, more than the %d that fit; shorten the filters", size, most)
	if page.Len() > 0 {
		message = fmt.Sprintf("the response with event %s has %d bytes, more than the %d that fit; lower the limit, or use content text or none", page.EventID(0), size, most)
	}
	return failed(fault.OutputLimitExceeded, fault.OutputLimitExceeded+": "+message, map[string]any{
		"error": message, "error_code": fault.OutputLimitExceeded, "actual_bytes": size, "maximum_bytes": most, "retryable": true,
		"recommendation": "lower the limit, use content text or none, or stream with: ctx list events --format jsonl",
	})
}

func rangeRequest(args arguments) (req history.RangeRequest, err error) {
	blank := func(format string, values ...any) error {
		return fault.New(history.InvalidRange, format, values...).WithRetry(false)
	}
	noCursor := func(string, ...any) error {
		return fault.New(history.InvalidCursor, "the cursor is empty").WithRetry(false)
	}
	err = cmp.Or(args.notBlank(blank, "since", "until", "history_source", "provider_key", "source_id", "source_format", "provider_session",
		"branch", "workspace", "event_type", "role", "agent_type", "file"),
		args.notBlank(invalid, "source", "session", "parent_session", "root_session"), args.notBlank(noCursor, "cursor"), args.into(&req))
	_, req.LimitGiven = args["limit"]
	return req, err
}
