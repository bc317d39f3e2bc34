package history

import (
	"io"
	"strconv"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// maxRendered is the most one rendered event or event window may have in a machine format.
const maxRendered = 64 << 20

// WriteJSON streams the session_transcript object as one compact line.
func (t *Transcript) WriteJSON(w io.Writer) error {
	if _, err := w.Write(t.session.appendTranscript(nil, t.mode)); err != nil {
		return err
	}
	err := t.writeRows(w, func(dst []byte) []byte {
		if t.returned > 1 {
			dst = append(dst, ',')
		}
		return dst
	}, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(t.appendTruncated([]byte{']'}), "}\n"...))
	return err
}

// WriteJSONL writes one session_transcript_event record a selected event, then exactly one session_transcript_completion. A
// stream without the completion is incomplete.
func (t *Transcript) WriteJSONL(w io.Writer) error {
	head := t.session.appendHead([]byte(`{"schema_version":1,"payload_type":"session_transcript_event"`), t.mode)
	head = append(head, `,"event":`...)
	if err := t.writeRows(w, func(dst []byte) []byte { return append(dst, head...) }, "}\n"); err != nil {
		return err
	}
	end := t.session.appendHead([]byte(`{"schema_version":1,"payload_type":"session_transcript_completion"`), t.mode)
	end = appendCount(end, "events_returned", uint64(t.returned))
	end = strconv.AppendBool(appendName(end, "complete"), !t.truncated)
	_, err := w.Write(append(t.appendTruncated(end), "}\n"...))
	return err
}

// writeRows writes every row that is left behind what before appends, and with tail behind it.
func (t *Transcript) writeRows(w io.Writer, before func([]byte) []byte, tail string) error {
	var buf []byte
	return t.Each(func(shown *Shown) (err error) {
		if buf, err = appendBounded(before(buf[:0]), shown); err == nil {
			_, err = w.Write(append(buf, tail...))
		}
		return err
	})
}

// appendTranscript appends the session_transcript object up to its first event.
func (s *Session) appendTranscript(dst []byte, mode Mode) []byte {
	dst = s.appendHead(append(dst, `{"schema_version":1,"target":"session","payload_type":"session_transcript"`...), mode)
	dst = record.AppendSession(append(dst, `,"format":"json","session":`...), s.Session, s.SourceState)
	return append(dst, `,"events":[`...)
}

// appendHead appends the members that name the session and the mode.
func (s *Session) appendHead(dst []byte, mode Mode) []byte {
	dst = appendText(appendText(dst, "ctx_session_id", s.ID.String()), "provider", s.Provider)
	if s.ProviderSessionID != "" {
		dst = appendText(dst, "provider_session_id", s.ProviderSessionID)
	}
	return appendText(dst, "mode", string(mode))
}

// appendTruncated appends the member that says that the transcript was cut, if it was.
func (t *Transcript) appendTruncated(dst []byte) []byte {
	if !t.truncated {
		return dst
	}
	dst = append(dst, `,"truncated":{"events":true,"max_events":`...)
	return append(strconv.AppendInt(dst, int64(t.max), 10), '}')
}

// appendBounded appends a row, or refuses one that nobody could take in.
func appendBounded(dst []byte, shown *Shown) ([]byte, error) {
	before := len(dst)
	dst = shown.AppendJSON(dst)
	if size := len(dst) - before; size > maxRendered {
		return dst, tooLarge(shown.Event.ID, size, maxRendered)
	}
	return dst, nil
}

func tooLarge(event record.Digest, size, most int) error {
	return fault.New(fault.OutputLimitExceeded, "output_limit_exceeded").WithRetry(false).
		With("ctx_event_id", event.String()).With("actual_bytes", size).With("maximum_bytes", most).
		With("remediation", "ask for a smaller window, a narrower mode, or list the event with --content text or none").
		WithHint("Use a smaller window or a narrower mode")
}
