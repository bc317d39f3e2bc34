package history

import (
	"context"

	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/record"
)

// SessionLocation says where a session comes from. It marshals to the session_location object and holds no provider path.
type SessionLocation struct {
	SchemaVersion   int            `json:"schema_version"`
	Target          string         `json:"target"`
	PayloadType     string         `json:"payload_type"`
	SessionID       string         `json:"ctx_session_id"`
	Provider        string         `json:"provider"`
	ProviderSession string         `json:"provider_session_id,omitempty"`
	Parent          string         `json:"parent_ctx_session_id,omitempty"`
	Root            string         `json:"root_ctx_session_id,omitempty"`
	StartedAt       string         `json:"started_at,omitempty"` // time of the first stored event
	SourceState     string         `json:"source_state"`
	Source          SourceLocation `json:"source"`
}

// EventLocation says where an event comes from. It marshals to the event_location object.
type EventLocation struct {
	SchemaVersion   int            `json:"schema_version"`
	Target          string         `json:"target"`
	PayloadType     string         `json:"payload_type"`
	EventID         string         `json:"ctx_event_id"`
	SessionID       string         `json:"ctx_session_id"`
	Provider        string         `json:"provider"`
	ProviderSession string         `json:"provider_session_id,omitempty"`
	ProviderEvent   RawJSON        `json:"provider_event_id,omitempty"` // typed key
	Sequence        uint64         `json:"sequence"`
	EventType       string         `json:"event_type"`
	Role            string         `json:"role,omitempty"`
	OccurredAt      string         `json:"occurred_at,omitempty"`
	SourceState     string         `json:"source_state"`
	Source          SourceLocation `json:"source"`
}

// SourceLocation names the source of a session.
type SourceLocation struct {
	SourceID        string `json:"ctx_source_id"`
	SourceFormat    string `json:"source_format"`
	SchemaVariant   string `json:"schema_variant"`
	IdentityVersion uint32 `json:"provider_identity_version"`
}

// RawJSON is JSON text that is emitted as it stands.
type RawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r RawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// LocateSession tells where a session comes from.
func (v *View) LocateSession(s *Session) (*SessionLocation, error) {
	started, err := v.firstTime(s)
	if err != nil {
		return nil, err
	}
	return &SessionLocation{
		SchemaVersion: 1, Target: "session", PayloadType: "session_location",
		SessionID: s.ID.String(), Provider: s.Provider, ProviderSession: s.ProviderSessionID,
		Parent: s.Info.Parent, Root: s.Info.Root, StartedAt: started, SourceState: s.SourceState, Source: sourceOf(s),
	}, nil
}

// firstTime is the time of the first stored event in session order, "" when it has none.
func (v *View) firstTime(s *Session) (string, error) {
	it := v.gen.SessionEvents(s.Ordinal, nil, false)
	defer it.Close()
	if !it.Next() {
		return "", it.Err()
	}
	row, ok := v.gen.Lexical().Row(it.Doc())
	if !ok || !row.Timed {
		return "", nil
	}
	return selection.FormatTime(row.Time), nil
}

// LocateEvent tells where an event (full id or prefix) comes from.
func (v *View) LocateEvent(ctx context.Context, id string) (*EventLocation, error) {
	shown, err := v.FindEvent(ctx, id)
	if err != nil {
		return nil, err
	}
	e, s := shown.Event, shown.Session
	l := &EventLocation{
		SchemaVersion: 1, Target: "event", PayloadType: "event_location",
		EventID: e.ID.String(), SessionID: s.ID.String(), Provider: s.Provider, ProviderSession: s.ProviderSessionID,
		Sequence: e.Sequence, EventType: e.Type, Role: e.Role, SourceState: s.SourceState, Source: sourceOf(s),
	}
	if len(e.NativeID) > 0 {
		l.ProviderEvent = record.AppendTypedKeyJSON(nil, e.NativeID)
	}
	if e.Timed {
		l.OccurredAt = selection.FormatTime(e.OccurredAt)
	}
	return l, nil
}

func sourceOf(s *Session) SourceLocation {
	return SourceLocation{SourceID: s.Source.String(), SourceFormat: s.SourceFormat, SchemaVariant: s.SchemaVariant, IdentityVersion: s.IdentityVersion}
}
