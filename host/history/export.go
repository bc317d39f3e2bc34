package history

import (
	"bufio"
	"context"
	"io"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/redact"
)

type exportedSession struct {
	SchemaVersion   int                `json:"schema_version"`
	RecordType      string             `json:"record_type"`
	SessionID       string             `json:"ctx_session_id"`
	SourceID        string             `json:"ctx_source_id"`
	Provider        string             `json:"provider"`
	ProviderSession string             `json:"provider_session_id,omitempty"`
	SourceFormat    string             `json:"source_format"`
	SchemaVariant   string             `json:"schema_variant"`
	IdentityVersion uint32             `json:"provider_identity_version"`
	ParserRevision  string             `json:"parser_revision"`
	SourceState     string             `json:"source_state"`
	Parent          string             `json:"parent_ctx_session_id,omitempty"`
	Root            string             `json:"root_ctx_session_id,omitempty"`
	Relationship    string             `json:"session_relationship,omitempty"`
	AgentScope      string             `json:"agent_scope,omitempty"`
	Metadata        record.SessionMeta `json:"metadata"`
}

// Export streams everything that the active generation stores as JSON lines: one session record a session, one event record (the
// canonical Core record) a stored event in range order, then exactly one export_completion with the counts. A stream without the
// completion is incomplete. Secrets are taken out with with, which may be nil.
func Export(ctx context.Context, store *core.Store, with *redact.Redactor, w io.Writer) error {
	v, err := Open(ctx, store)
	if err != nil {
		return err
	}
	defer v.Close()
	v.Redact = with
	out := bufio.NewWriterSize(w, 1<<20)
	sessions, err := v.exportSessions(ctx, out)
	if err != nil {
		return err
	}
	events, err := v.exportEvents(ctx, out)
	if err != nil {
		return err
	}
	end := appendText([]byte(`{"schema_version":1,"record_type":"export_completion"`), "generation_id", v.gen.ID())
	end = appendCount(appendCount(end, "sessions", sessions), "events", events)
	if _, err := out.Write(append(end, "}\n"...)); err != nil {
		return err
	}
	return out.Flush()
}

func (v *View) exportSessions(ctx context.Context, out *bufio.Writer) (uint64, error) {
	var n uint64
	var line []byte
	err := v.gen.Sessions(func(s *record.Session, _ core.SessionStats) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		n++
		state, err := v.gen.SourceState(s.Source)
		if err != nil {
			return err
		}
		s = v.Redact.Session(s)
		line, err = appendJSON(line[:0], exportedSession{
			SchemaVersion: 1, RecordType: "session", SessionID: s.ID.String(), SourceID: s.Source.String(), Provider: s.Provider,
			ProviderSession: s.ProviderSessionID, SourceFormat: s.SourceFormat, SchemaVariant: s.SchemaVariant,
			IdentityVersion: s.IdentityVersion, ParserRevision: s.ParserRevision, SourceState: state.String(),
			Parent: idText(s.Parent), Root: idText(s.Root), Relationship: s.Relationship.String(), AgentScope: s.Scope.String(),
			Metadata: s.Meta,
		})
		if err != nil {
			return err
		}
		_, err = out.Write(append(line, '\n'))
		return err
	})
	return n, err
}

func (v *View) exportEvents(ctx context.Context, out *bufio.Writer) (uint64, error) {
	it := v.gen.Range(nil, nil, false)
	defer it.Close()
	var n uint64
	var buf, line []byte
	var e record.Event
	for it.Next() {
		if n%256 == 0 && ctx.Err() != nil {
			return n, ctx.Err()
		}
		var err error
		if buf, err = v.gen.EventInto(buf, it.Doc(), &e); err != nil {
			return n, err
		}
		v.Redact.Event(&e)
		s, err := v.session(e.Session)
		if err != nil {
			return n, err
		}
		line = appendCount(append(line[:0], `{"schema_version":1,"record_type":"event"`...), "ordinal", n)
		line = appendText(appendText(line, "ctx_event_id", e.ID.String()), "ctx_session_id", s.ID.String())
		line = record.AppendCoreJSON(append(line, `,"record":`...), &e, s.Session)
		if _, err := out.Write(append(line, "}\n"...)); err != nil {
			return n, err
		}
		n++
	}
	return n, it.Err()
}
