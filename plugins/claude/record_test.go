package claude

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// recorder is a sink that keeps everything as text.
type recorder struct {
	mode       sdkplugin.Mode
	sessions   []sdkplugin.Session
	events     []string
	rejections []string
	rejected   uint64
	retained   uint64
	ignored    uint64
	ending     sdkplugin.Ending
	progress   uint64
	last       uint64
	ended      bool
	cancel     func() // called on every event
}

func (r *recorder) Begin(mode sdkplugin.Mode) error { r.mode = mode; return nil }

func (r *recorder) Session(s sdkplugin.Session) (uint32, error) {
	r.sessions = append(r.sessions, s)
	return 0, nil
}

func (r *recorder) Event(e *sdkplugin.Event) error {
	if e.Sequence < r.last {
		return fmt.Errorf("sequence %d after %d", e.Sequence, r.last)
	}
	r.last = e.Sequence
	if err := e.Key.Validate(); err != nil {
		return err
	}
	if len(e.Structured) > 0 && !canonical.IsCanonical(e.Structured) {
		return fmt.Errorf("structured content is not canonical: %s", e.Structured)
	}
	r.events = append(r.events, renderEvent(e))
	if r.cancel != nil {
		r.cancel()
	}
	return nil
}

func (r *recorder) Retain(n uint64)              { r.retained += n }
func (r *recorder) Ignore(n uint64)              { r.ignored += n }
func (r *recorder) Progress(n uint64) error      { r.progress = n; return nil }
func (r *recorder) End(e sdkplugin.Ending) error { r.ending, r.ended = e, true; return nil }
func (r *recorder) Reject(rej sdkplugin.Rejection) error {
	r.rejected++
	text := fmt.Sprintf("line %d", rej.Line)
	if rej.Damaged {
		text += " damaged"
	}
	if rej.HasOffset {
		text += fmt.Sprintf(" at %d", rej.ByteOffset)
	}
	if rej.PayloadType != "" {
		text += " " + rej.PayloadType
	}
	r.rejections = append(r.rejections, text+": "+rej.Detail)
	return nil
}

func (r *recorder) counts() sdkplugin.Counts {
	return sdkplugin.Counts{
		Complete: r.retained + r.rejected + r.ignored, Retained: r.retained, Rejected: r.rejected, Ignored: r.ignored,
	}
}

// renderEvent writes an event on one line: place, type/role, body, id, then what else it has.
func renderEvent(e *sdkplugin.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d %s", e.Sequence>>16, e.Sequence&0xffff, e.Type)
	if e.Role != "" {
		b.WriteString("/" + e.Role)
	}
	fmt.Fprintf(&b, " %q id=%s", renderValue(e, e.Body), renderKey(e.Key))
	if e.At.Known {
		fmt.Fprintf(&b, " at=%d", e.At.Millis)
	}
	if e.Scope == sdkplugin.ScopeSubagent {
		b.WriteString(" subagent")
	}
	if len(e.CallID) > 0 {
		fmt.Fprintf(&b, " call=%q", e.CallID[9:])
	}
	if i := e.Invocation; i != nil {
		fmt.Fprintf(&b, " tool=%s", i.Tool)
		if i.Protocol != "" {
			fmt.Fprintf(&b, " %s:%s", i.Protocol, i.Server)
		}
		fmt.Fprintf(&b, " args=%s", renderCapture(e, i.Arguments))
		if i.StartedAt != e.At {
			b.WriteString(" wrong start")
		}
	}
	if r := e.Result; r != nil {
		if r.Status != "" {
			b.WriteString(" status=" + r.Status)
		}
		fmt.Fprintf(&b, " text=%s whole=%s", renderCapture(e, r.Text), renderWhole(e, r.Structured))
		if r.CompletedAt != e.At {
			b.WriteString(" wrong completion")
		}
	}
	if len(e.Structured) > 0 {
		fmt.Fprintf(&b, " structured=%s", e.Structured)
	}
	for _, f := range e.Facts {
		fmt.Fprintf(&b, " %s=%s", factName(f.Kind), f.Value)
	}
	if c := e.Copy; c != nil {
		fmt.Fprintf(&b, " copy=%s:%s", renderSession(c.Session), renderKey(c.EventKey))
		if c.Proof == sdkplugin.ProofNativeCopiedFrom {
			b.WriteString("(field)")
		}
	}
	return b.String()
}

func factName(kind sdkplugin.FactKind) string {
	switch kind {
	case sdkplugin.FactSessionCWD:
		return "session_cwd"
	}
	return factNames[kind]
}

func renderValue(e *sdkplugin.Event, v sdkplugin.Value) string {
	if !v.Present {
		return "<absent>"
	}
	text, err := v.Append(nil, e.Structured)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// renderCapture shows a value that is equal to the body as "body".
func renderCapture(e *sdkplugin.Event, c sdkplugin.Capture) string {
	switch c.Status {
	case sdkplugin.CapturePresent:
		if text := renderValue(e, c.Value); text != renderValue(e, e.Body) {
			return text
		}
		return "body"
	case sdkplugin.CaptureUnavailable:
		return "unavailable"
	case sdkplugin.CaptureOmitted:
		return fmt.Sprintf("omitted(%s,%d)", c.Reason, c.ObservedBytes)
	}
	return "absent"
}

// renderWhole shows a value that is equal to the structured content as "structured".
func renderWhole(e *sdkplugin.Event, c sdkplugin.Capture) string {
	if c.Status == sdkplugin.CapturePresent && renderValue(e, c.Value) == string(e.Structured) {
		return "structured"
	}
	return renderCapture(e, c)
}

// renderKey shows the parts of an event key; content digests as "#".
func renderKey(key sdkplugin.NativeKey) string {
	prefix := sdkplugin.AppendComposite(nil, eventNamespace, 0)
	rest := key[len(prefix):]
	var parts []string
	for len(rest) > 0 {
		switch rest[0] {
		case 4:
			parts = append(parts, fmt.Sprint(binary.BigEndian.Uint64(rest[1:9])))
			rest = rest[9:]
		default:
			n := 9 + binary.BigEndian.Uint64(rest[1:9])
			part := string(rest[9:n])
			if rest[0] == 1 {
				part = "#"
			}
			parts = append(parts, part)
			rest = rest[n:]
		}
	}
	if parts[0] == fallbackMark {
		parts = parts[1:]
	}
	return strings.Join(parts, ",")
}

// renderSession shows a session that is named from outside.
func renderSession(ref sdkplugin.SessionRef) string {
	key, err := keyOfAnchor(ref.Anchor)
	if err != nil || !slices.Equal(ref.Key, key.ref(true).Key) || ref.Kind != sessionKind {
		return "broken reference"
	}
	return key.display()
}

// renderSessions shows the last declaration.
func (r *recorder) renderSession() string {
	if len(r.sessions) == 0 {
		return "none"
	}
	s := r.sessions[len(r.sessions)-1]
	names := [...]string{"unknown", "root", "delegated", "forked", "resumed_from", "workflow_child"}
	text := s.ProviderSessionID + " " + names[s.Relationship]
	if s.Parent != nil {
		text += " parent=" + renderSession(*s.Parent)
	}
	if s.Root != nil {
		text += " root=" + renderSession(*s.Root)
	}
	if s.Scope == sdkplugin.ScopeSubagent {
		text += " subagent"
	}
	return text
}

// tree is a projects container of a test.
type tree struct {
	t    testing.TB
	root string
	work jsonl.Work
	p    *provider
}

func newTree(t testing.TB) *tree {
	tr := &tree{t: t, root: filepath.Join(t.TempDir(), projectsDir)}
	tr.p = &provider{work: &tr.work}
	if err := os.Mkdir(tr.root, 0o700); err != nil {
		t.Fatal(err)
	}
	return tr
}

func (tr *tree) write(locator, content string) {
	tr.t.Helper()
	path := filepath.Join(tr.root, filepath.FromSlash(locator))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) append(locator, content string) {
	tr.t.Helper()
	f, err := os.OpenFile(filepath.Join(tr.root, filepath.FromSlash(locator)), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		tr.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) route() sdkplugin.Route {
	return sdkplugin.Route{Path: tr.root, Format: formatName, Role: routeRole}
}

// sources lists the container.
func (tr *tree) sources() []sdkplugin.Source {
	tr.t.Helper()
	inv := tr.list(tr.route())
	for i, state := range inv.States {
		if state != sdkplugin.RouteComplete {
			tr.t.Fatalf("route %d has state %d: %+v", i, state, inv.Diagnostics)
		}
	}
	var sources []sdkplugin.Source
	for i := range inv.found {
		sources = append(sources, inv.found[i].source())
	}
	return sources
}

func (tr *tree) list(routes ...sdkplugin.Route) *inventory {
	tr.t.Helper()
	inv, err := tr.p.list(context.Background(), routes)
	if err != nil {
		tr.t.Fatal(err)
	}
	return inv
}

// only is the one source of the container.
func (tr *tree) only() sdkplugin.Source {
	tr.t.Helper()
	sources := tr.sources()
	if len(sources) != 1 {
		tr.t.Fatalf("%d sources, want 1: %+v", len(sources), sources)
	}
	return sources[0]
}

// full reads a source from its start.
func (tr *tree) full(source sdkplugin.Source) *recorder {
	tr.t.Helper()
	return tr.scan(sdkplugin.ScanRequest{Route: tr.route(), Source: source, Mode: sdkplugin.ModeFull})
}

// more reads on from where an earlier scan of the source ended.
func (tr *tree) more(source sdkplugin.Source, before *recorder) *recorder {
	tr.t.Helper()
	return tr.scan(appendRequest(tr.route(), source, before))
}

func appendRequest(route sdkplugin.Route, source sdkplugin.Source, before *recorder) sdkplugin.ScanRequest {
	return sdkplugin.ScanRequest{
		Route: route, Source: source, Mode: sdkplugin.ModeAppend, Frontier: before.ending.Frontier,
		CertifiedBytes: before.ending.CertifiedBytes, ContentDigest: before.ending.ContentDigest[:], Counts: before.counts(),
	}
}

func (tr *tree) scan(req sdkplugin.ScanRequest) *recorder {
	tr.t.Helper()
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	s.work = tr.p.work
	r := &recorder{}
	if err := s.scan(context.Background(), &req, r); err != nil {
		tr.t.Fatalf("scan: %v", err)
	}
	return r
}

// meta returns the metadata that a scan sent.
func (r *recorder) meta() sdkplugin.SessionMetadata {
	if len(r.ending.Metadata) == 0 {
		return sdkplugin.SessionMetadata{}
	}
	return r.ending.Metadata[0]
}
