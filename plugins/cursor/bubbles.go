package cursor

import (
	"context"
	"strconv"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/sqlitesnap"
)

// bubble is one message or tool call of a session in the editor's state.
type bubble struct {
	v     canonical.Value // absent when its row is missing or no JSON
	id    string
	named bool   // by the list, else by its place in it
	index uint64 // in the list of the session
	user  bool
	bad   bool // its row is no JSON or too long, or its name is no key
}

// text is what the bubble says.
func (b *bubble) text() []byte {
	if text := b.v.Get("text").Str(); len(text) > 0 {
		return text
	}
	return b.v.Get("rawText").Str()
}

// scanState reads one session of the editor's state.
func (s *scanner) scanState(ctx context.Context, req *sdkplugin.ScanRequest, out sink) error {
	if err := out.Begin(sdkplugin.ModeFull); err != nil {
		return err
	}
	r := &s.rows
	r.begin(s.found.id, s.found.head.parent, s.lib.rootOf(s.found), out)
	missing := 0
	err := r.state(ctx, s.lib, s.found, func(b *bubble) error {
		switch {
		case b.bad:
			return out.Reject(sdkplugin.Rejection{Detail: "a bubble is no JSON object, or it or its name is too long"})
		case !b.v.Exists():
			missing++
			return nil
		}
		if err := r.bubble(b); err != nil {
			return err
		}
		s.count()
		return nil
	})
	if err != nil {
		return err
	}
	if text := r.composer.Root().Get(summaryKey).Get("summary").Get("summary"); text.IsString() {
		r.sequence, r.part, r.at = uint64(conversation(r.composer.Root()).Len())<<16, 0, sdkplugin.Instant{}
		r.files = canonical.Value{}
		r.key = func() sdkplugin.NativeKey { return r.bubbleKey(summaryKey) }
		if err := r.text(sdkplugin.Summary, sdkplugin.RoleSystem, text.Str()); err != nil {
			return err
		}
	}
	if missing > 0 {
		s.diagnose("partial_session", "bubbles that the session lists are not in the database")
	}
	return s.endRows(ctx, out)
}

// rootOf returns the session that a subagent of the editor's state comes from in the end.
func (l *library) rootOf(f *found) sessionID {
	const deepest = 16 // heads that name each other have no end
	root := f.head.parent
	for range deepest {
		above := l.of(l.routes[f.route], root)
		if above == nil || above.in[ideState] == nil || above.in[ideState].head.parent == "" {
			break
		}
		root = above.in[ideState].head.parent
	}
	return root
}

// summaryKey is the name of the session's summary among its bubbles.
const summaryKey = "latestConversationSummary"

// state hands the bubbles of a session to each, in the order of its list, from one state of the database. A bubble that the list
// does not name belongs to a turn that was edited away; one that it names twice counts once.
func (r *rows) state(ctx context.Context, l *library, f *found, each func(*bubble) error) error {
	snapshot, err := sqlitesnap.Open(ctx, l.pathOf(f), stateTables)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	r.start()
	found, err := snapshot.Get(ctx, kvTable, composerKey+string(f.id), valueColumn, func(row *sqlitesnap.Row) error {
		r.composed = append(r.composed[:0], row.Cells[0].Bytes...)
		return r.took(&row.Cells[0])
	})
	if err != nil {
		return err
	}
	if !found || r.composer.Parse(r.composed) != nil {
		return sdkplugin.Fail(sdkplugin.Vanished, "the session is no longer in the database")
	}
	composer := r.composer.Root()
	r.model = []byte(modelName(composer.Get("modelConfig").Get("modelName")))
	index := uint64(0)
	listed := map[string]bool{summaryKey: true}
	for entry := range conversation(composer).Elems {
		b := bubble{index: index, id: string(entry.Get("bubbleId").Str())}
		if b.named = b.id != ""; !b.named {
			b.id = "#" + strconv.FormatUint(index, 10)
		}
		index++
		if listed[b.id] {
			continue
		}
		listed[b.id] = true
		if b.bad = !sessionID(b.id).valid(); !b.bad {
			if err := r.fetch(ctx, snapshot, f.id, composer, entry, &b); err != nil {
				return err
			}
		}
		typ := b.v.Get("type")
		if typ.IsNull() {
			typ = entry.Get("type")
		}
		b.user = isUser(typ)
		if err := each(&b); err != nil {
			return err
		}
	}
	return snapshot.Verify()
}

// fetch finds the bubble that an entry of the list stands for: in a row of its own, or inside the session's head.
func (r *rows) fetch(ctx context.Context, snapshot *sqlitesnap.Snapshot, id sessionID, composer, entry canonical.Value, b *bubble) error {
	if b.named {
		_, err := snapshot.Get(ctx, kvTable, bubbleKey+string(id)+":"+b.id, valueColumn, func(row *sqlitesnap.Row) error {
			c := &row.Cells[0]
			switch {
			case c.Null:
				return nil
			case c.TooLong() || !r.parse(c.Bytes):
				b.bad = true
			default:
				b.v = r.doc.Root()
			}
			return r.took(c)
		})
		if err != nil || b.v.Exists() || b.bad {
			return err
		}
		if b.v = composer.Get("conversationMap").Get(b.id); b.v.Exists() {
			return nil
		}
	}
	if composer.Get("fullConversationHeadersOnly").Len() == 0 {
		b.v = entry
	}
	return nil
}

// parse parses a copy of a row's value, whose own bytes end with the row.
func (r *rows) parse(value []byte) bool {
	r.row = append(r.row[:0], value...)
	return r.doc.Parse(r.row) == nil && r.doc.Root().IsObject()
}

func (r *rows) bubbleKey(id string) sdkplugin.NativeKey {
	r.keys = sdkplugin.AppendComposite(r.keys[:0], bubbleNamespace, 3)
	r.keys = sdkplugin.AppendUtf8(r.keys, string(r.id))
	r.keys = sdkplugin.AppendUtf8(r.keys, id)
	r.keys = sdkplugin.AppendU64(r.keys, r.part)
	r.part++
	return r.keys
}

// bubble gives the events of one bubble: its text, its tool call with the result, its error.
func (r *rows) bubble(b *bubble) error {
	r.sequence, r.part, r.given, r.at = b.index<<16, 0, 0, bubbleTime(b.v)
	r.files = b.v
	role := sdkplugin.RoleAssistant
	if b.user {
		role = sdkplugin.RoleUser
	} else {
		r.learned.model(r.modelOf(b.v))
	}
	r.key = func() sdkplugin.NativeKey { return r.bubbleKey(b.id) }
	if text := b.text(); len(text) > 0 {
		if err := r.spoken(role, text); err != nil {
			return err
		}
	}
	if former := b.v.Get("toolFormerData"); former.IsObject() {
		if err := r.former(former); err != nil {
			return err
		}
	}
	details := b.v.Get("errorDetails")
	message := details.Get("message")
	if message.IsNull() {
		message = details.Get("error").Get("message")
	}
	return r.text(sdkplugin.Notice, sdkplugin.RoleSystem, message.Str())
}

// former gives the call of a bubble, and the result once it has one.
func (r *rows) former(v canonical.Value) error {
	t := tool{id: v.Get("toolCallId").Str(), name: v.Get("name").Str(), status: string(v.Get("status").Str())}
	for _, name := range [...]string{"params", "rawArgs"} {
		a, ok := r.decoded(v.Get(name))
		if ok || t.arguments.IsNull() && len(a.Str()) > 0 {
			t.arguments = a
		}
		if ok {
			break
		}
	}
	if err := r.call(&t); err != nil {
		return err
	}
	switch t.status {
	case "completed", "error", "cancelled", "rejected":
		t.result = v.Get("result")
		return r.output(&t)
	}
	return nil
}

func (r *rows) modelOf(v canonical.Value) []byte {
	if name := modelName(v.Get("modelInfo").Get("modelName")); name != "" {
		return []byte(name)
	}
	return r.model
}

// bubbleTime returns when a bubble came to be: what it says, or when its request was sent. Small numbers there count from the
// start of the program.
func bubbleTime(v canonical.Value) sdkplugin.Instant {
	for _, name := range [...]string{"createdAt", "timestamp"} {
		if at := instant(v.Get(name)); at.Known {
			return at
		}
	}
	sent := v.Get("timingInfo").Get("clientRpcSendTime")
	if n, _ := sent.Float64(); n > 1e12 {
		return instant(sent)
	}
	return sdkplugin.Instant{}
}

// bubbleFiles adds the files that a bubble names beside its text.
func (w *factWalk) bubbleFiles(v canonical.Value) {
	for code := range v.Get("codeBlocks").Elems {
		w.file(code.Get("uri"))
	}
	for file := range v.Get("relevantFiles").Elems {
		w.file(file)
	}
	for selection := range v.Get("context").Get("fileSelections").Elems {
		w.file(selection.Get("uri"))
	}
}

// file adds a path, or the one of a URI object.
func (w *factWalk) file(v canonical.Value) {
	for _, at := range [...]canonical.Value{v, v.Get("fsPath"), v.Get("_fsPath"), v.Get("path")} {
		if path := at.Str(); len(path) > 0 {
			w.Add(sdkplugin.FactFile, path)
			return
		}
	}
}
