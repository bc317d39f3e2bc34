package cursor

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	_ "github.com/agenthistory/ctx/sdkplugin/sqlitesnap" // its engine also writes the databases of the tests
)

// recorder is a sink that keeps everything as text.
type recorder struct {
	mode       sdkplugin.Mode
	sessions   []sdkplugin.Session
	events     []string
	keys       []string
	rejections []string
	retained   uint64
	ignored    uint64
	ending     sdkplugin.Ending
	notes      []sdkplugin.Diagnostic
	last       uint64
	stop       func()
}

func (r *recorder) Begin(mode sdkplugin.Mode) error { r.mode = mode; return nil }
func (r *recorder) Session(s sdkplugin.Session) (uint32, error) {
	r.sessions = append(r.sessions, s)
	return 0, nil
}

func (r *recorder) Event(e *sdkplugin.Event) error {
	if r.stop != nil {
		r.stop()
	}
	if e.Sequence < r.last {
		return fmt.Errorf("sequence %d after %d", e.Sequence, r.last)
	}
	r.last = e.Sequence
	if err := e.Validate(); err != nil {
		return err
	}
	if e.Result != nil && e.Result.Text.Status == sdkplugin.CaptureSameAsBody && plain(e, e.Body) == "" {
		return fmt.Errorf("a text that is the same as no body")
	}
	if len(e.Structured) > 0 && !canonical.IsCanonical(e.Structured) {
		return fmt.Errorf("structured content is not canonical: %s", e.Structured)
	}
	r.events = append(r.events, render(e))
	r.keys = append(r.keys, string(e.Key))
	return nil
}

func (r *recorder) Retain(n uint64)              { r.retained += n }
func (r *recorder) Ignore(n uint64)              { r.ignored += n }
func (r *recorder) Progress(uint64) error        { return nil }
func (r *recorder) End(e sdkplugin.Ending) error { r.ending = e; return nil }
func (r *recorder) Reject(rej sdkplugin.Rejection) error {
	r.rejections = append(r.rejections, fmt.Sprintf("line %d: %s", rej.Line, rej.Detail))
	return nil
}

// metadata is that of the one session.
func (r *recorder) metadata() sdkplugin.SessionMetadata {
	if len(r.ending.Metadata) == 0 {
		return sdkplugin.SessionMetadata{}
	}
	return r.ending.Metadata[0]
}

// plain is a value as bytes.
func plain(e *sdkplugin.Event, v sdkplugin.Value) string {
	if len(v.Spans) == 0 {
		return string(v.Bytes)
	}
	var parts []string
	for _, s := range v.Spans {
		piece := e.Structured[s.Offset : s.Offset+s.Length]
		if s.Quoted {
			piece, _ = canonical.Unquote(nil, piece)
		}
		parts = append(parts, string(piece))
	}
	return strings.Join(parts, "\n")
}

func capture(e *sdkplugin.Event, c sdkplugin.Capture) string {
	switch c.Status {
	case sdkplugin.CapturePresent:
		return plain(e, c.Value)
	case sdkplugin.CaptureUnavailable:
		return "unavailable"
	case sdkplugin.CaptureSameAsBody:
		return "body"
	case sdkplugin.CaptureOmitted:
		return "omitted " + c.Reason
	}
	return "absent"
}

// render writes an event: place, type/role, time, body, and what it has beside.
func render(e *sdkplugin.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d %s/%s", e.Sequence>>16, e.Sequence&0xffff, e.Type, e.Role)
	if e.At.Known {
		fmt.Fprintf(&b, " @%s", time.UnixMilli(e.At.Millis).UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(&b, " %q", plain(e, e.Body))
	if e.Invocation != nil {
		fmt.Fprintf(&b, " call(%s %s %s)", e.CallID[9:], e.Invocation.Tool, capture(e, e.Invocation.Arguments))
		if e.Invocation.Protocol != "" {
			fmt.Fprintf(&b, " %s:%s", e.Invocation.Protocol, e.Invocation.Server)
		}
	}
	if e.Result != nil {
		fmt.Fprintf(&b, " result(%s %s %s)", e.CallID[9:], e.Result.Status, capture(e, e.Result.Text))
	}
	for _, f := range e.Facts {
		fmt.Fprintf(&b, " %s=%q", factNames[f.Kind], f.Value)
	}
	return b.String()
}

var factNames = map[sdkplugin.FactKind]string{
	sdkplugin.FactFile: "file", sdkplugin.FactCommand: "command", sdkplugin.FactURL: "url", sdkplugin.FactToolWorkdir: "workdir",
}

// home is a directory with the stores of Cursor.
type home struct {
	t    testing.TB
	dir  string
	p    *provider
	list *library
}

func newHome(t testing.TB) *home { return &home{t: t, dir: t.TempDir(), p: &provider{}} }

func (h *home) routes() []sdkplugin.Route {
	var routes []sdkplugin.Route
	for _, r := range [...][3]string{
		{"cursor/projects", transcriptFormat, transcriptsRole}, {"cursor/chats", storeFormat, storeRole},
		{"cursor/acp-sessions", storeFormat, storeRole}, {"User", stateFormat, stateRole},
	} {
		routes = append(routes, sdkplugin.Route{ID: r[0], Path: filepath.Join(h.dir, filepath.FromSlash(r[0])), Format: r[1], Role: r[2]})
	}
	return routes
}

// path is a place in the home; its directory exists afterwards.
func (h *home) path(name string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h *home) write(name, content string) {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) add(name, content string) {
	h.t.Helper()
	f, err := os.OpenFile(h.path(name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) remove(name string) {
	h.t.Helper()
	if err := os.RemoveAll(h.path(name)); err != nil {
		h.t.Fatal(err)
	}
}

// database runs statements in a database.
func (h *home) database(name string, statements ...string) {
	h.t.Helper()
	db, err := sql.Open("sqlite", h.path(name))
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			h.t.Fatalf("%s: %v", s, err)
		}
	}
}

const stateFile = "User/globalStorage/state.vscdb"

// state writes rows of the editor's state; a nil value is NULL.
func (h *home) state(rows map[string]any) {
	h.t.Helper()
	statements := []string{"CREATE TABLE IF NOT EXISTS ItemTable(key TEXT UNIQUE, value BLOB)", "CREATE TABLE IF NOT EXISTS cursorDiskKV(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
		"INSERT OR REPLACE INTO ItemTable VALUES('cursorAuth/accessToken','planted-secret')",
		"INSERT OR REPLACE INTO cursorDiskKV VALUES('cursorAuth/refreshToken','planted-secret')"}
	for key, value := range rows {
		text := "NULL"
		if value != nil {
			text = "'" + strings.ReplaceAll(value.(string), "'", "''") + "'"
		}
		statements = append(statements, fmt.Sprintf("INSERT INTO cursorDiskKV VALUES('%s',%s)", key, text))
	}
	h.database(stateFile, statements...)
}

// chat writes a session of the editor with these prompts.
func (h *home) chat(id string, prompts ...string) {
	h.t.Helper()
	rows, list := map[string]any{}, []string{}
	for i, text := range prompts {
		list = append(list, fmt.Sprintf(`{"bubbleId":"b%d","type":1}`, i))
		rows[fmt.Sprintf("bubbleId:%s:b%d", id, i)] = fmt.Sprintf(`{"type":1,"text":%q}`, text)
	}
	rows["composerData:"+id] = fmt.Sprintf(`{"composerId":%q,"name":"head of %s","lastUpdatedAt":%d,"fullConversationHeadersOnly":[%s]}`,
		id, id, 1767323045000+len(prompts), strings.Join(list, ","))
	h.state(rows)
}

const cliDir = "cursor/chats/0cc175b9c0f1b6a831c399e269772661/" // of a workspace "a"

// blob is the SQL of a blob: its id is that of its number.
func blob(n byte, data string) string {
	return fmt.Sprintf("INSERT INTO blobs VALUES('%s',X'%x')", blobID(n), data)
}

func blobID(n byte) string { return hex.EncodeToString(bytes.Repeat([]byte{n}, 32)) }

// root is the data of a root that lists blobs.
func root(numbers ...byte) string {
	var data []byte
	for _, n := range numbers {
		data = append(append(data, 0x0a, 0x20), bytes.Repeat([]byte{n}, 32)...)
	}
	return string(data)
}

// cli writes a CLI store.
func (h *home) cli(name, meta string, blobs ...string) {
	h.t.Helper()
	h.database(name, append([]string{"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT)", "CREATE TABLE blobs(id TEXT PRIMARY KEY, data BLOB)",
		"INSERT INTO meta VALUES('0','" + meta + "')"}, blobs...)...)
}

// look lists the home.
func (h *home) look() *library {
	h.t.Helper()
	list, err := h.p.look(context.Background(), h.routes())
	if err != nil {
		h.t.Fatal(err)
	}
	h.list = list
	return list
}

// source is the one of a session, by its id.
func (h *home) source(id string) sdkplugin.Source {
	h.t.Helper()
	list := h.look()
	at := slices.IndexFunc(list.list, func(f *found) bool { return string(f.id) == id })
	if at < 0 {
		h.t.Fatalf("no session %q: %v", id, ids(list))
	}
	return list.source(list.list[at])
}

func ids(list *library) []string {
	var all []string
	for _, f := range list.list {
		all = append(all, fmt.Sprintf("%s from %s", f.id, [...]string{"transcript", "store", "state"}[f.store]))
	}
	return all
}

// scan reads a session, from where before ended if that is not nil.
func (h *home) scan(id string, before *recorder) *recorder {
	h.t.Helper()
	r, err := h.try(context.Background(), h.source(id), before)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *home) try(ctx context.Context, source sdkplugin.Source, before *recorder) (*recorder, error) {
	req := sdkplugin.ScanRequest{Routes: h.list.routes, Route: h.list.routes[source.Route], Source: source, Mode: sdkplugin.ModeFull}
	if before != nil {
		req.Mode, req.Frontier, req.CertifiedBytes = sdkplugin.ModeAppend, before.ending.Frontier, before.ending.CertifiedBytes
		req.ContentDigest, req.Counts = before.ending.ContentDigest[:], sdkplugin.Counts{Retained: before.retained}
	}
	r, s := &recorder{}, &scanner{}
	err := s.scan(ctx, h.list, &req, r)
	r.notes = slices.Clone(s.diagnostics)
	return r, err
}

// transcript is where a session's lines lie.
func transcriptOf(id string) string {
	return "cursor/projects/home-dev-app/agent-transcripts/" + id + "/" + id + ".jsonl"
}
