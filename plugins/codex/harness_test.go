package codex

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

const (
	u1 = "01900000-0000-7000-8000-000000000001"
	u2 = "01900000-0000-7000-8000-000000000002"
	u3 = "01900000-0000-7000-8000-000000000003"
	u9 = "01900000-0000-7000-8000-000000000009"
	t0 = "2026-01-02T03:04:05.000Z"
)

// fileOf is the usual place of a rollout below the trees.
func fileOf(thread string) string {
	return "2026/01/02/rollout-2026-01-02T03-04-05-" + thread + ".jsonl"
}

// meta0 is a session_meta line; more holds further members of the payload.
func meta0(thread string, more ...string) string {
	extra := ""
	for _, m := range more {
		extra += "," + m
	}
	return fmt.Sprintf(`{"timestamp":%q,"type":"session_meta","payload":{"id":%q,"timestamp":%q,"cwd":"/w","originator":"x","cli_version":"1"%s}}`,
		t0, thread, t0, extra)
}

func forkOf(thread string) string { return fmt.Sprintf(`"forked_from_id":%q`, thread) }

func line(typ, payload string) string {
	return fmt.Sprintf(`{"timestamp":%q,"type":%q,"payload":%s}`, t0, typ, payload)
}

func item(payload string) string  { return line("response_item", payload) }
func event(payload string) string { return line("event_msg", payload) }

func say(role, text string) string {
	kind := "output_text"
	if role != "assistant" {
		kind = "input_text"
	}
	return item(fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":%q,"text":%q}]}`, role, kind, text))
}

func call(id, tool, args string) string {
	return item(fmt.Sprintf(`{"type":"function_call","name":%q,"arguments":%q,"call_id":%q}`, tool, args, id))
}

func output(id, text string) string {
	return item(fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, id, text))
}

func turn(id, cwd string) string {
	return line("turn_context", fmt.Sprintf(`{"turn_id":%q,"cwd":%q,"model":"m"}`, id, cwd))
}

func lines(text ...string) string { return strings.Join(text, "\n") + "\n" }

func compressed(text string) string { return windowed(text, 1<<20) }

// windowed is a frame that asks for a window.
func windowed(text string, window int) string {
	var b bytes.Buffer
	w, _ := zstd.NewWriter(&b, zstd.WithWindowSize(window))
	_, _ = w.Write([]byte(text))
	_ = w.Flush() // the size of the content is unknown
	_ = w.Close()
	return b.String()
}

// testHome is a home in a temporary directory.
type testHome struct {
	t    testing.TB
	dir  string
	work jsonl.Work
}

func newHome(t testing.TB) *testHome { return &testHome{t: t, dir: t.TempDir()} }

// write writes a file of the home; one that lies in no tree and is no log goes below `sessions`.
func (h *testHome) write(name, content string) {
	h.t.Helper()
	path := h.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testHome) path(name string) string {
	if !strings.HasPrefix(name, archivedDir) && name != promptFile && name != titleFile {
		name = sessionsDir + "/" + name
	}
	return filepath.Join(h.dir, filepath.FromSlash(name))
}

func (h *testHome) add(name, content string) {
	h.t.Helper()
	old, err := os.ReadFile(h.path(name))
	if err != nil {
		h.t.Fatal(err)
	}
	f, err := os.OpenFile(h.path(name), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(content)
		_ = f.Close()
	}
	if err != nil || len(old) == 0 && content == "" {
		h.t.Fatal(err)
	}
}

func (h *testHome) remove(name string) {
	if err := os.Remove(h.path(name)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testHome) routes() []sdkplugin.Route {
	lineage, _ := hex.DecodeString("9b200cccd3f41fa604ab72b11c8462e8eb70b1b52bf8f164b5468e5138336c2e")
	return []sdkplugin.Route{
		{Path: filepath.Join(h.dir, sessionsDir), Format: treeFormat, Role: sessionsRole, Lineage: lineage},
		{Path: filepath.Join(h.dir, archivedDir), Format: treeFormat, Role: archivedRole, Lineage: lineage},
		{Path: filepath.Join(h.dir, promptFile), Format: promptFormat, Role: promptRole, Lineage: lineage},
	}
}

// sources lists the home with a provider of its own.
func (h *testHome) sources() (*provider, []sdkplugin.Source) {
	h.t.Helper()
	p := &provider{work: &h.work}
	v, err := p.list(context.Background(), h.routes())
	if err != nil {
		h.t.Fatal(err)
	}
	var out []sdkplugin.Source
	for _, c := range v.found {
		out = append(out, c.source(v.routes))
	}
	return p, out
}

// source returns the source of a thread, or of the prompt log for "".
func (h *testHome) source(thread string) (*provider, sdkplugin.Source) {
	h.t.Helper()
	p, all := h.sources()
	for _, s := range all {
		if s.ProviderSessionID == thread {
			return p, s
		}
	}
	h.t.Fatalf("no source of thread %q in %d sources", thread, len(all))
	return nil, sdkplugin.Source{}
}

func (h *testHome) request(s sdkplugin.Source) sdkplugin.ScanRequest {
	return sdkplugin.ScanRequest{Routes: h.routes(), Route: h.routes()[s.Route], Source: s, Mode: sdkplugin.ModeFull}
}

// full reads a thread from its start.
func (h *testHome) full(thread string) *recorder {
	h.t.Helper()
	p, s := h.source(thread)
	req := h.request(s)
	r := &recorder{}
	if err := p.scan(context.Background(), &req, r); err != nil {
		h.t.Fatal(err)
	}
	return r
}

// fails reads a thread whose file cannot be trusted.
func (h *testHome) fails(thread string) error {
	h.t.Helper()
	p, s := h.source(thread)
	req := h.request(s)
	r := &recorder{}
	err := p.scan(context.Background(), &req, r)
	if err == nil || r.ended {
		h.t.Errorf("no failure: events %q", r.events)
	}
	return err
}

// more reads what was added to a thread since before.
func (h *testHome) more(thread string, before *recorder) *recorder {
	h.t.Helper()
	p, s := h.source(thread)
	req := h.request(s)
	req.Mode, req.Frontier = sdkplugin.ModeAppend, before.ending.Frontier
	req.CertifiedBytes, req.ContentDigest, req.Counts = before.ending.CertifiedBytes, before.ending.ContentDigest[:], before.counts()
	r := &recorder{}
	if err := p.scan(context.Background(), &req, r); err != nil {
		h.t.Fatal(err)
	}
	return r
}

// recorder is a sink that keeps everything as text.
type recorder struct {
	mode       sdkplugin.Mode
	sessions   []sdkplugin.Session
	events     []string
	ids        []string // public ids of the events
	structured []string
	rejections []string
	tally      sdkplugin.Counts
	ending     sdkplugin.Ending
	ended      bool
	last       uint64
	longest    int // bytes of the longest key
}

func (r *recorder) Begin(mode sdkplugin.Mode) error { r.mode = mode; return nil }

func (r *recorder) Session(s sdkplugin.Session) (uint32, error) {
	if err := s.Validate(); err != nil {
		return 0, err
	}
	r.sessions = append(r.sessions, s)
	return uint32(len(r.sessions) - 1), nil
}

func (r *recorder) Event(e *sdkplugin.Event) error {
	if err := e.Validate(); err != nil {
		return err
	}
	if e.Sequence < r.last {
		return fmt.Errorf("sequence %d after %d", e.Sequence, r.last)
	}
	r.last = e.Sequence
	r.longest = max(r.longest, len(e.Key))
	if len(e.Structured) > 0 && !canonical.IsCanonical(e.Structured) {
		return fmt.Errorf("structured content is not canonical: %s", e.Structured)
	}
	s := r.sessions[e.Session]
	r.events = append(r.events, render(e))
	r.ids = append(r.ids, eventID(&s, e))
	r.structured = append(r.structured, string(e.Structured))
	return nil
}

func (r *recorder) Retain(n uint64)              { r.tally.Retained += n }
func (r *recorder) Ignore(n uint64)              { r.tally.Ignored += n }
func (r *recorder) Progress(uint64) error        { return nil }
func (r *recorder) End(e sdkplugin.Ending) error { r.ending, r.ended = e, true; return nil }

func (r *recorder) Reject(rej sdkplugin.Rejection) error {
	r.tally.Rejected++
	text := fmt.Sprintf("line %d: %s", rej.Line, rej.Detail)
	if rej.Damaged && rej.HasOffset {
		text = fmt.Sprintf("line %d: damaged at %d", rej.Line, rej.ByteOffset)
	}
	r.rejections = append(r.rejections, text)
	return nil
}

func (r *recorder) counts() sdkplugin.Counts {
	c := r.tally
	c.Complete = c.Retained + c.Rejected + c.Ignored
	return c
}

func (r *recorder) title() string {
	if len(r.ending.Metadata) == 0 {
		return ""
	}
	return r.ending.Metadata[0].Title
}

// render writes an event on one line: place, type/role and body, then what else it has. The usual directory of the session is
// left out.
func render(e *sdkplugin.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", e.Sequence)
	if e.Suborder > 0 {
		fmt.Fprintf(&b, ".%d", e.Suborder)
	}
	fmt.Fprintf(&b, " %s/%s", e.Type, e.Role)
	if e.Body.Present {
		fmt.Fprintf(&b, " %q", valueOf(e, e.Body))
	}
	if len(e.CallID) > 0 {
		fmt.Fprintf(&b, " call=%s", e.CallID[9:])
	}
	if i := e.Invocation; i != nil {
		fmt.Fprintf(&b, " tool=%s", i.Tool)
		if i.Protocol != "" {
			fmt.Fprintf(&b, " %s:%s", i.Protocol, i.Server)
		}
		fmt.Fprintf(&b, " args=%s", captureOf(e, i.Arguments))
	}
	if r := e.Result; r != nil {
		fmt.Fprintf(&b, " text=%s", captureOf(e, r.Text))
		if r.Structured.Status != sdkplugin.CaptureAbsent {
			fmt.Fprintf(&b, " whole=%s", captureOf(e, r.Structured))
		}
		if r.Status != "" {
			fmt.Fprintf(&b, " status=%s", r.Status)
		}
		if r.Duration.Known {
			fmt.Fprintf(&b, " took=%d", r.Duration.Nanos)
		}
		if r.CompletedAt != e.At {
			b.WriteString(" wrong completion")
		}
	}
	for i, f := range e.Facts {
		if i == 0 && f.Kind == sdkplugin.FactSessionCWD && f.Value == "/w" {
			continue
		}
		fmt.Fprintf(&b, " [%s=%s]", strings.ToLower(strings.TrimPrefix(f.Kind.String(), "FACT_KIND_")), f.Value)
	}
	if c := e.Copy; c != nil {
		threads, _ := c.Session.Anchor.Native(sessionNamespace, 1)
		thread := threads[0]
		ancestor := sdkplugin.Session{Ref: c.Session}
		copied := &sdkplugin.Event{Kind: c.EventKind, Key: c.EventKey}
		fmt.Fprintf(&b, " copy=%s:%s:%s", thread, eventID(&ancestor, copied), strings.ToLower(strings.TrimPrefix(c.Proof.String(), "PROOF_")))
	}
	if !e.At.Known {
		b.WriteString(" untimed")
	}
	return b.String()
}

func valueOf(e *sdkplugin.Event, v sdkplugin.Value) string {
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

func captureOf(e *sdkplugin.Event, c sdkplugin.Capture) string {
	switch c.Status {
	case sdkplugin.CaptureAbsent:
		return "-"
	case sdkplugin.CapturePresent:
		return valueOf(e, c.Value)
	}
	return strings.ToLower(strings.TrimPrefix(c.Status.String(), "STATUS_"))
}

// The public ids, derived as the host derives them.

func identityDigest(kind byte, fields ...[]byte) []byte {
	b := append([]byte("ctx.identity\x00"), 0, 1, kind)
	b = binary.BigEndian.AppendUint16(b, uint16(len(fields)))
	for i, f := range fields {
		b = binary.BigEndian.AppendUint16(b, uint16(i+1))
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(f))), f...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

func public(digest []byte) string {
	u := bytes.Clone(digest[:16])
	u[6], u[8] = 0x80|u[6]&0x0f, 0x80|u[8]&0x3f
	h := hex.EncodeToString(u)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func sourceDigest(anchor sdkplugin.Anchor) []byte {
	return identityDigest(1, []byte("codex"), anchor)
}

func sessionDigest(anchor sdkplugin.Anchor, ref sdkplugin.SessionRef) []byte {
	return identityDigest(2, sourceDigest(anchor), []byte(ref.Kind), ref.Key)
}

// eventID returns the id of an event of a rollout; the anchor follows from the key of its session.
func eventID(s *sdkplugin.Session, e *sdkplugin.Event) string {
	anchor := s.Ref.Anchor
	if anchor == nil {
		anchor = sdkplugin.Anchor(s.Ref.Key) // namespace and key of thread and source are the same
	}
	return public(identityDigest(3, sourceDigest(anchor), sessionDigest(anchor, s.Ref), []byte(e.Kind), e.Key))
}
