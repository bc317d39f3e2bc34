package history

import (
	"context"
	"strconv"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// Bounds of a transcript page.
const (
	DefaultPageEvents = 200
	MaxPageEvents     = 4096
)

// PageRequest asks for one page of a transcript.
type PageRequest struct {
	Mode   Mode   `json:"mode"`   // "" is lite; the same for all pages of a transcript
	Limit  int    `json:"limit"`  // selected events, 1..4096; 0 is 200
	Cursor string `json:"cursor"` // "" is the first page
	// MaxBytes ends the page before a row that would not fit into that many bytes of rows; the first row is always given out, so a
	// caller that cannot take it sees how large it is. 0 is no bound.
	MaxBytes int `json:"-"`
}

// TranscriptPage is one page of a transcript.
type TranscriptPage struct {
	Session *Session
	Mode    Mode
	Limit   int
	Rows    [][]byte        // shown event rows
	Events  []record.Digest // ids of Rows
	HasMore bool            // another selected event follows

	generation string
	positions  []record.SessionKey
}

// TranscriptPage reads the selected events after a cursor. Mode acts before the limit.
func (v *View) TranscriptPage(ctx context.Context, s *Session, req PageRequest) (*TranscriptPage, error) {
	if req.Limit == 0 {
		req.Limit = DefaultPageEvents
	}
	if req.Mode == "" {
		req.Mode = ModeLite
	}
	if req.Limit < 1 || req.Limit > MaxPageEvents {
		return nil, fault.New(fault.InvalidRequest, "a page has 1 to %d events", MaxPageEvents)
	}
	var from *record.SessionKey
	if req.Cursor != "" {
		var err error
		if from, err = v.resume(s, req.Cursor); err != nil {
			return nil, err
		}
	}
	t := v.transcriptFrom(ctx, s, req.Mode, 0, from)
	defer t.close()
	if from != nil && t.it.Next() {
		// The walk starts at the event of the cursor, which was given out already. It ended a run or was a user message, so no
		// assistant message is pending behind it.
		t.seen++
	}
	p := &TranscriptPage{Session: s, Mode: req.Mode, Limit: req.Limit, generation: v.gen.ID()}
	size := 0
	for {
		shown, err := t.Next()
		if err != nil {
			return nil, err
		}
		if shown == nil {
			return p, nil
		}
		if len(p.Rows) == req.Limit {
			p.HasMore = true
			return p, nil
		}
		row := shown.AppendJSON(nil)
		if req.MaxBytes > 0 && len(p.Rows) > 0 && size+len(row) > req.MaxBytes {
			p.HasMore = true
			return p, nil
		}
		size += len(row) + 1
		p.Rows = append(p.Rows, row)
		p.Events = append(p.Events, shown.Event.ID)
		p.positions = append(p.positions, record.SessionKeyOf(shown.Event))
	}
}

// Keep drops all but the first n rows (n >= 1), for a caller whose response has a bound of its own.
func (p *TranscriptPage) Keep(n int) {
	if n >= len(p.Rows) || n < 1 {
		return
	}
	p.Rows, p.Events, p.positions, p.HasMore = p.Rows[:n], p.Events[:n], p.positions[:n], true
}

// NextCursor is the cursor behind the last row, "" when nothing follows.
func (p *TranscriptPage) NextCursor() string {
	if !p.HasMore || len(p.positions) == 0 {
		return ""
	}
	return encodeSessionCursor(p.generation, p.Session.ID, p.positions[len(p.positions)-1])
}

// AppendJSON appends the session_transcript object with its pagination (compact).
func (p *TranscriptPage) AppendJSON(dst []byte) []byte {
	dst = p.Session.appendTranscript(dst, p.Mode)
	for i, row := range p.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, row...)
	}
	dst = append(dst, `],"pagination":{"limit":`...)
	dst = strconv.AppendInt(dst, int64(p.Limit), 10)
	dst = appendCount(dst, "returned", uint64(len(p.Rows)))
	dst = strconv.AppendBool(appendName(dst, "has_more"), p.HasMore)
	if p.HasMore {
		dst = appendText(dst, "next_cursor", p.NextCursor())
	}
	return append(dst, `}}`...)
}
