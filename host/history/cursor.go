package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// A cursor is base64url without padding of a body, whose first byte is a version, and the SHA-256 over a domain and the body.
//
// Session cursor, version 1: generation id (32 bytes), session digest (32), session order key (54).
// Range cursor, version 2: generation id (64 ASCII), selection digest (32), range order key (57).
const (
	sessionCursorVersion = 1
	sessionCursorBody    = 1 + 32 + 32 + record.SessionKeySize
	sessionCursorDomain  = "ctx.session-cursor\x00"

	rangeCursorVersion = 2
	rangeCursorBody    = 1 + 64 + sha256.Size + record.RangeKeySize
	rangeCursorDomain  = "ctx.event-range-cursor\x00"

	// MaxSessionCursor is the longest text that is looked at as a session cursor.
	MaxSessionCursor = 4096
	maxRangeCursor   = 512
)

// Codes of cursors that cannot be used. None of them is worth a retry with the same cursor.
const (
	InvalidCursor  = "invalid_cursor"
	CursorStale    = "cursor_stale"
	CursorMismatch = "cursor_mismatch"
)

var encoding = base64.RawURLEncoding.Strict()

func seal(domain string, body []byte) string {
	sum := sha256.Sum256(append([]byte(domain), body...))
	return encoding.EncodeToString(append(body, sum[:]...))
}

// unseal returns the body of a cursor: of the right size and version, intact, and in its one canonical spelling. No padding, no
// trailing bits, and no line breaks, which the standard library would skip.
func unseal(domain, text string, size int, version byte) ([]byte, bool) {
	raw, err := encoding.DecodeString(text)
	if err != nil || encoding.EncodedLen(len(raw)) != len(text) || len(raw) != size+sha256.Size || raw[0] != version {
		return nil, false
	}
	body := raw[:size]
	sum := sha256.Sum256(append([]byte(domain), body...))
	return body, bytes.Equal(sum[:], raw[size:])
}

func encodeSessionCursor(generation string, session record.Digest, k record.SessionKey) string {
	body := []byte{sessionCursorVersion}
	id, _ := hex.DecodeString(generation) // an id of a pinned generation is hex
	body = append(body, id...)
	body = append(body, session[:]...)
	return seal(sessionCursorDomain, append(body, k[:]...))
}

// sessionPosition is a decoded session cursor.
type sessionPosition struct {
	generation string
	session    record.Digest
	key        record.SessionKey
}

func decodeSessionCursor(text string) (p sessionPosition, err error) {
	bad := cursorFault(InvalidCursor, "this is not a cursor of show_session")
	if len(text) > MaxSessionCursor {
		return p, bad
	}
	body, ok := unseal(sessionCursorDomain, text, sessionCursorBody, sessionCursorVersion)
	if !ok {
		return p, bad
	}
	p.generation = hex.EncodeToString(body[1:33])
	copy(p.session[:], body[33:65])
	if p.key, err = record.ParseSessionKey(body[65:]); err != nil {
		return p, bad
	}
	return p, nil
}

func cursorFault(code, format string, args ...any) error {
	f := fault.New(code, format, args...).WithRetry(false)
	return f.With("detail", f.Message).WithHint("Start again without a cursor")
}

// CheckCursor refuses a cursor of TranscriptPage that is malformed or of another generation, before anybody looks for its session.
func (v *View) CheckCursor(text string) error {
	_, err := v.current(text)
	return err
}

func (v *View) current(text string) (sessionPosition, error) {
	p, err := decodeSessionCursor(text)
	if err == nil && p.generation != v.gen.ID() {
		err = cursorFault(CursorStale, "the index was published again since this cursor was made; restart from the first page")
	}
	return p, err
}

// resume checks a cursor in the order of the contract: form, generation, session, owner, coordinate.
func (v *View) resume(s *Session, text string) (*record.SessionKey, error) {
	p, err := v.current(text)
	if err != nil {
		return nil, err
	}
	owner, err := v.gen.SessionByID(p.session)
	if err != nil {
		return nil, err
	}
	if owner == nil {
		return nil, cursorFault(InvalidCursor, "this cursor names a session that is not stored")
	}
	if owner.Ordinal != s.Ordinal {
		return nil, cursorFault(CursorMismatch, "this cursor belongs to another session; do not send it again for this one")
	}
	doc, found, err := v.gen.EventDoc(p.key.Event())
	if err != nil {
		return nil, err
	}
	if found {
		var e record.Event
		if err := v.gen.Event(doc, &e); err != nil {
			return nil, err
		}
		if e.Session == s.Ordinal && record.SessionKeyOf(&e) == p.key {
			return &p.key, nil
		}
	}
	return nil, cursorFault(InvalidCursor, "this cursor names no event of its session")
}

// rangePosition is a decoded range cursor.
type rangePosition struct {
	generation string
	selection  [sha256.Size]byte
	key        record.RangeKey
}

func (p *rangePosition) encode() string {
	body := append([]byte{rangeCursorVersion}, p.generation...)
	body = append(body, p.selection[:]...)
	return seal(rangeCursorDomain, append(body, p.key[:]...))
}

func decodeRangeCursor(text string) (*rangePosition, error) {
	if len(text) > maxRangeCursor {
		return nil, rangeFault(InvalidCursor, "a cursor has at most %d characters", maxRangeCursor)
	}
	bad := rangeFault(InvalidCursor, "this is not a cursor of a listing, or it is damaged or of another version")
	body, ok := unseal(rangeCursorDomain, text, rangeCursorBody, rangeCursorVersion)
	if !ok {
		return nil, bad
	}
	p := &rangePosition{generation: string(body[1:65])}
	copy(p.selection[:], body[65:])
	var err error
	if p.key, err = record.ParseRangeKey(body[65+sha256.Size:]); err != nil {
		return nil, bad
	}
	return p, nil
}
