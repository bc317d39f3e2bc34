package sdkplugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// InventoryWriter sends the sources of an inventory. Its methods may be called from several goroutines, but the sources must come
// in an order that depends on nothing but the files: by route, then by locator bytes.
type InventoryWriter struct {
	ctx         context.Context
	send        func(*historyv1.InventoryMessage) error
	Diagnostics Diagnostics // of the whole inventory; not for several goroutines

	mu      sync.Mutex
	pending []*historyv1.Source
	end     historyv1.InventoryEnd
	max     int
	sent    int
	err     error
}

func newInventoryWriter(ctx context.Context, req InventoryRequest, send func(*historyv1.InventoryMessage) error) *InventoryWriter {
	w := &InventoryWriter{ctx: ctx, send: send, max: req.MaxSources}
	if w.max <= 0 || w.max > MaxSources {
		w.max = MaxSources
	}
	for range req.Routes {
		w.end.Routes = append(w.end.Routes, &historyv1.RouteEnd{State: RouteIncomplete})
	}
	return w
}

// ErrTooManySources is the error of Source when the host's bound is reached. Mark the route RouteIncomplete then and return nil.
var ErrTooManySources = errors.New("more sources than the host asked for")

// Source gives one source. A returned error other than ErrTooManySources is final: return it.
func (w *InventoryWriter) Source(s Source) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.err = context.Cause(w.ctx); w.err != nil {
		return w.err
	}
	if err := w.valid(&s); err != nil {
		w.err = &InvalidError{What: fmt.Sprintf("source %d", w.sent), Err: err}
		return w.err
	}
	if w.sent == w.max {
		return ErrTooManySources
	}
	w.sent++
	w.end.Bytes += s.Size
	w.end.Routes[s.Route].Sources++
	w.pending = append(w.pending, s.wire())
	if len(w.pending) == sourcesMessage {
		w.flush()
	}
	return w.err
}

// Route tells how completely a route was listed. A route without a word is RouteIncomplete, so that nothing missing from it
// counts as deleted.
func (w *InventoryWriter) Route(index int, state RouteState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if index < 0 || index >= len(w.end.Routes) || state < RouteComplete || state > RouteUnreadable {
		w.fail(&InvalidError{What: "route state", Err: fmt.Errorf("state %d of route %d of %d", state, index, len(w.end.Routes))})
		return
	}
	w.end.Routes[index].State = state
}

// Walked adds to the totals of what was looked at.
func (w *InventoryWriter) Walked(directories, files, skippedLinks uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end.Directories += directories
	w.end.Files += files
	w.end.SkippedLinks += skippedLinks
}

func (w *InventoryWriter) valid(s *Source) error {
	switch n := len(s.Observation); {
	case s.Route < 0 || s.Route >= len(w.end.Routes):
		return fmt.Errorf("route %d of %d", s.Route, len(w.end.Routes))
	case !ValidLocator(s.Locator):
		return errors.New("the locator must be relative, clean and UTF-8")
	case n == 0 || n > MaxObservation:
		return fmt.Errorf("observation of %d bytes, want 1 to %d", n, MaxObservation)
	}
	return cmp.Or(about("anchor", s.Anchor.Validate()), validLabel("format", s.Format),
		validStrings("provider session id", s.ProviderSessionID))
}

func (w *InventoryWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *InventoryWriter) flush() {
	if len(w.pending) == 0 || w.err != nil {
		return
	}
	w.fail(w.send(&historyv1.InventoryMessage{Message: &historyv1.InventoryMessage_Sources{
		Sources: &historyv1.Sources{Sources: w.pending}}}))
	w.pending = w.pending[:0]
}

// finish sends what is left and the end.
func (w *InventoryWriter) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	if w.err != nil {
		return w.err
	}
	w.end.Complete = true
	for _, r := range w.end.Routes {
		w.end.Complete = w.end.Complete && r.State == RouteComplete
	}
	w.end.Diagnostics = w.Diagnostics.wire()
	return w.send(&historyv1.InventoryMessage{Message: &historyv1.InventoryMessage_End{End: &w.end}})
}

func (s *Source) wire() *historyv1.Source {
	return &historyv1.Source{
		Anchor: s.Anchor, Format: s.Format, Locator: s.Locator, Observation: s.Observation, Size: s.Size,
		MtimeNs: s.ModTimeNS, FileId: s.FileID, ProviderSessionId: s.ProviderSessionID, Route: uint32(s.Route),
	}
}

func sourceFromWire(s *historyv1.Source) Source {
	return Source{
		Anchor: s.GetAnchor(), Format: s.GetFormat(), Locator: s.GetLocator(), Observation: s.GetObservation(), Size: s.GetSize(),
		ModTimeNS: s.GetMtimeNs(), FileID: s.GetFileId(), ProviderSessionID: s.GetProviderSessionId(), Route: int(s.GetRoute()),
	}
}

func routesFromWire(routes []*historyv1.Route) []Route {
	out := make([]Route, len(routes))
	for i, r := range routes {
		out[i] = Route{ID: r.GetId(), Path: r.GetPath(), Format: r.GetFormat(), Role: r.GetRole(),
			Lineage: r.GetLineage(), Label: r.GetLabel(), Explicit: r.GetExplicit()}
	}
	return out
}
