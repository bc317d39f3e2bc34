package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// A session cursor is base64url without padding of: version byte 1, generation id (32 bytes), session digest (32), session order key
// (54), SHA-256 over a domain and all that (32).
const (
	sessionCursorVersion = 1
	sessionCursorBody    = 1 + 32 + 32 + record.SessionKeySize
	sessionCursorSize    = sessionCursorBody + sha256.Size
	sessionCursorDomain  = "ctx.session-cursor\x00"
	// MaxSessionCursor is the longest text that is looked at as a session cursor.
	MaxSessionCursor = 4096
)

// Codes of cursors that cannot be used. None of them is worth a retry with the same cursor.
const (
	InvalidCursor  = "invalid_cursor"
	CursorStale    = "cursor_stale"
	CursorMismatch = "cursor_mismatch"
)

var encoding = base64.RawURLEncoding.Strict()

var errNotCanonical = errors.New("not canonical base64url")

// decodeText accepts the one canonical spelling only: no padding, no trailing bits, and no line breaks, which the standard library
// would skip.
func decodeText(text string) ([]byte, error) {
	raw, err := encoding.DecodeString(text)
	if err == nil && encoding.EncodedLen(len(raw)) != len(text) {
		return nil, errNotCanonical
	}
	return raw, err
}

func encodeSessionCursor(generation string, session record.Digest, k record.SessionKey) string {
	body := []byte{sessionCursorVersion}
	id, _ := hex.DecodeString(generation) // an id of a pinned generation is hex
	body = append(body, id...)
	body = append(body, session[:]...)
	body = append(body, k[:]...)
	sum := checksum(sessionCursorDomain, body)
	return encoding.EncodeToString(append(body, sum[:]...))
}

func checksum(domain string, body []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(domain), body...))
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
	raw, err := decodeText(text)
	if err != nil || len(raw) != sessionCursorSize || raw[0] != sessionCursorVersion {
		return p, bad
	}
	body, sum := raw[:sessionCursorBody], raw[sessionCursorBody:]
	if want := checksum(sessionCursorDomain, body); !bytes.Equal(want[:], sum) {
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

// resume checks a cursor in the order of the contract: form, generation, session, owner, coordinate.
func (v *View) resume(s *Session, text string) (*record.SessionKey, error) {
	p, err := decodeSessionCursor(text)
	if err != nil {
		return nil, err
	}
	if p.generation != v.gen.ID() {
		return nil, cursorFault(CursorStale, "the index was published again since this cursor was made; restart from the first page")
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
