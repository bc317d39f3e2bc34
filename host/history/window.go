package history

import (
	"context"
	"strconv"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/lexical"
	"github.com/agenthistory/ctx/host/lineage"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// MaxNeighbours is the most events on either side of a window.
const MaxNeighbours = 50

// Window is an event with its neighbours in the same session.
type Window struct {
	Selected *Shown
	Events   []*Shown // session order, selected included, at most 101
	Lineage  *lineage.Report
}

// Window reads an event (full id or prefix) and up to before and after neighbours (0..50 each). Events that search does not find
// are shown like any other.
func (v *View) Window(ctx context.Context, id string, before, after int) (*Window, error) {
	if before < 0 || before > MaxNeighbours || after < 0 || after > MaxNeighbours {
		return nil, fault.New(fault.InvalidRequest, "a window has 0 to %d events on either side", MaxNeighbours)
	}
	selected, err := v.FindEvent(ctx, id)
	if err != nil {
		return nil, err
	}
	report, err := lineage.Walk(v.gen, selected.Event, lineage.ShowPreview)
	if err != nil {
		return nil, err
	}
	w := &Window{Selected: selected, Lineage: report}
	earlier, err := v.neighbours(ctx, selected, before, true)
	if err != nil {
		return nil, err
	}
	later, err := v.neighbours(ctx, selected, after, false)
	if err != nil {
		return nil, err
	}
	for i := len(earlier) - 1; i >= 0; i-- {
		w.Events = append(w.Events, earlier[i])
	}
	w.Events = append(append(w.Events, selected), later...)
	return w, nil
}

// neighbours reads n events next to selected, nearest first.
func (v *View) neighbours(ctx context.Context, selected *Shown, n int, reverse bool) ([]*Shown, error) {
	if n == 0 {
		return nil, nil
	}
	key := record.SessionKeyOf(selected.Event)
	it := v.gen.SessionEvents(selected.Event.Session, &key, reverse)
	defer it.Close()
	var docs []lexical.Doc
	for len(docs) <= n && it.Next() {
		docs = append(docs, it.Doc())
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	if len(docs) > 0 {
		docs = docs[1:] // the walk starts with the selected event itself
	}
	var found []*Shown
	for _, doc := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		shown, err := v.shown(doc)
		if err != nil {
			return nil, err
		}
		found = append(found, shown)
	}
	return found, nil
}

// AppendJSON appends the event_window object (compact).
func (w *Window) AppendJSON(dst []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, `{"schema_version":1,"target":"event","payload_type":"event_window"`...)
	dst = appendText(appendText(dst, "ctx_event_id", w.Selected.Event.ID.String()), "ctx_session_id", w.Selected.Session.ID.String())
	dst = w.Selected.AppendJSON(append(dst, `,"format":"json","event":`...))
	dst = append(dst, `,"events":[`...)
	for i, shown := range w.Events {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst = shown.AppendJSON(dst); len(dst)-start > maxRendered {
			return dst[:start], tooLarge(w.Selected.Event.ID, len(dst)-start, maxRendered)
		}
	}
	dst = append(dst, `],"copied_lineage":`...)
	dst, err := appendJSON(dst, w.Lineage)
	return append(dst, '}'), err
}

// AppendJSONL appends one raw event row a line.
func (w *Window) AppendJSONL(dst []byte) ([]byte, error) {
	start := len(dst)
	for _, shown := range w.Events {
		dst = append(shown.AppendJSON(dst), '\n')
		if len(dst)-start > maxRendered {
			return dst[:start], tooLarge(w.Selected.Event.ID, len(dst)-start, maxRendered)
		}
	}
	return dst, nil
}

// appendName begins a member of an object behind others.
func appendName(dst []byte, name string) []byte {
	return append(append(append(dst, `,"`...), name...), `":`...)
}

func appendCount(dst []byte, name string, n uint64) []byte {
	return strconv.AppendUint(appendName(dst, name), n, 10)
}

func appendText(dst []byte, name, text string) []byte {
	return canonical.AppendString(appendName(dst, name), []byte(text))
}
