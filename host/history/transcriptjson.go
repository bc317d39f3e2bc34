package history

import (
	"io"
	"strconv"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// maxRendered is the most one rendered event or event window may have in a machine format.
const maxRendered = 64 << 20

// WriteJSON streams the session_transcript object as one compact line.
func (t *Transcript) WriteJSON(w io.Writer) error {
	head, err := t.session.appendTranscript(nil, t.mode)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	var buf []byte
	for {
		shown, err := t.Next()
		if err != nil {
			return err
		}
		if shown == nil {
			break
		}
		buf = buf[:0]
		if t.returned > 1 {
			buf = append(buf, ',')
		}
		if buf, err = appendBounded(buf, shown); err != nil {
			return err
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	tail := append(buf[:0], ']')
	if t.truncated {
		tail = append(tail, `,"truncated":`...)
		tail = t.appendTruncated(tail)
	}
	_, err = w.Write(append(tail, "}\n"...))
	return err
}

// WriteJSONL writes one session_transcript_event record a selected event, then exactly one session_transcript_completion. A
// stream without the completion is incomplete.
func (t *Transcript) WriteJSONL(w io.Writer) error {
	head, err := t.session.appendHead([]byte(`{"schema_version":1,"payload_type":"session_transcript_event"`), t.mode)
	if err != nil {
		return err
	}
	head = append(head, `,"event":`...)
	var buf []byte
	for {
		shown, err := t.Next()
		if err != nil {
			return err
		}
		if shown == nil {
			break
		}
		if buf, err = appendBounded(append(buf[:0], head...), shown); err != nil {
			return err
		}
		if _, err := w.Write(append(buf, "}\n"...)); err != nil {
			return err
		}
	}
	end, err := t.session.appendHead([]byte(`{"schema_version":1,"payload_type":"session_transcript_completion"`), t.mode)
	if err != nil {
		return err
	}
	end = append(end, `,"events_returned":`...)
	end = strconv.AppendInt(end, int64(t.returned), 10)
	end = append(end, `,"complete":`...)
	end = strconv.AppendBool(end, !t.truncated)
	if t.truncated {
		end = append(end, `,"truncated":`...)
		end = t.appendTruncated(end)
	}
	_, err = w.Write(append(end, "}\n"...))
	return err
}

// appendTranscript appends the session_transcript object up to its first event.
func (s *Session) appendTranscript(dst []byte, mode Mode) ([]byte, error) {
	dst, err := s.appendHead(append(dst, `{"schema_version":1,"target":"session","payload_type":"session_transcript"`...), mode)
	dst = append(dst, `,"format":"json","session":`...)
	dst = record.AppendSession(dst, s.Session, recordState(s.SourceState))
	return append(dst, `,"events":[`...), err
}

// appendHead appends the members that name the session and the mode.
func (s *Session) appendHead(dst []byte, mode Mode) ([]byte, error) {
	dst = append(dst, `,"ctx_session_id":"`...)
	dst = append(dst, s.ID.String()...)
	dst = append(dst, `","provider":`...)
	dst, err := appendJSON(dst, s.Provider)
	if err == nil && s.ProviderSessionID != "" {
		dst, err = appendJSON(append(dst, `,"provider_session_id":`...), s.ProviderSessionID)
	}
	if err != nil {
		return dst, err
	}
	return appendJSON(append(dst, `,"mode":`...), mode)
}

func (t *Transcript) appendTruncated(dst []byte) []byte {
	dst = append(dst, `{"events":true,"max_events":`...)
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

func recordState(state string) record.SourceState {
	if state == core.Gone.String() {
		return record.SourceGone
	}
	return record.SourcePresent
}
