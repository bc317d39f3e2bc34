package cursor

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/sqlitesnap"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// Tables and keys of the editor's state.
const (
	kvTable     = "cursorDiskKV"
	headsTable  = "composerHeaders"
	composerKey = "composerData:"
	bubbleKey   = "bubbleId:"
	userBubble  = 1
	stateTries  = 3 // of what the editor changes while it is read
)

var (
	stateTables = sqlitesnap.Options{Tables: []sqlitesnap.Table{
		{Name: kvTable, Columns: []string{"value"}, Key: "key", Keys: []string{composerKey, bubbleKey}},
		{Name: headsTable, Columns: []string{"workspaceId", "value"}, Key: "composerId"},
	}}
	valueColumn = []string{"value"}
)

// head is what the state's own list says of a session.
type head struct {
	companion
	workspace string // name of the workspace's directory, if the state names it
	parent    sessionID
	prompts   int // at most: bubbles that may be the user's, with and without text
	updated   int64
	size      uint64 // of the session's head in bytes
	digest    [16]byte
}

// named changes when the description of the session does.
func (h *head) named() uint64 {
	sum := sha256.Sum256([]byte(strings.Join([]string{h.title, h.cwd, h.model, h.workspace, string(h.parent)}, "\x00")))
	return binary.BigEndian.Uint64(sum[:8])
}

// ideState lists the sessions of the editor's state. The databases of workspaces hold none that are read.
func (l *library) ideState(ctx context.Context, index int, route sdkplugin.Route, isDir bool) (sdkplugin.RouteState, error) {
	locator := ""
	if isDir {
		locator = globalDir + "/" + stateName
	}
	seen, err := jsonl.Observe(route.Path, locator, l.Work)
	if err != nil {
		if jsonl.ClassOf(err) == jsonl.Vanished {
			return sdkplugin.RouteComplete, nil
		}
		l.Warn(index, locator, "unreadable", "the state of the editor cannot be looked at")
		return sdkplugin.RouteIncomplete, nil
	}
	l.Files++
	var heads *headReader
	err = patiently(func() (err error) {
		heads, err = readHeads(ctx, filepath.Join(route.Path, filepath.FromSlash(locator)))
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		l.Warn(index, locator, "unreadable", reasonOf(err))
		return sdkplugin.RouteIncomplete, nil
	}
	for _, id := range slices.Sorted(maps.Keys(heads.byID)) {
		if err := l.add(ctx, &found{store: ideState, route: index, locator: locator, id: id, seen: seen, head: heads.byID[id]}); err != nil {
			return 0, err
		}
	}
	if heads.rejected > 0 {
		l.Warn(index, locator, "unreadable_sessions", "heads of sessions that are no JSON or too long are left out")
		return sdkplugin.RouteIncomplete, nil // such a session is not gone
	}
	return sdkplugin.RouteComplete, nil
}

// patiently tries again what the editor disturbed.
func patiently(read func() error) (err error) {
	err = sqlitesnap.ErrBusy
	for try := 0; try < stateTries && errors.Is(err, sqlitesnap.ErrBusy); try++ {
		err = read()
	}
	return err
}

// headReader collects the heads of all sessions in one pass over them.
type headReader struct {
	snapshot *sqlitesnap.Snapshot
	doc      canonical.Doc
	byID     map[sessionID]*head
	rejected int
}

func readHeads(ctx context.Context, path string) (*headReader, error) {
	r := &headReader{byID: map[sessionID]*head{}}
	snapshot, err := sqlitesnap.Open(ctx, path, stateTables)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	r.snapshot = snapshot
	has, err := snapshot.Has(ctx, kvTable)
	if err != nil || !has {
		return r, err
	}
	children := map[sessionID]sessionID{}
	err = snapshot.Each(ctx, sqlitesnap.Prefix(kvTable, composerKey, "value"), func(row *sqlitesnap.Row) error {
		r.composer(sessionID(row.Key[len(composerKey):]), &row.Cells[0], children)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.headers(ctx); err != nil {
		return nil, err
	}
	for child, parent := range children {
		if h := r.byID[child]; h != nil && child != parent {
			h.parent = parent
		}
	}
	return r, snapshot.Verify()
}

// composer takes the head of one session. One without a bubble is a draft and no session.
func (r *headReader) composer(id sessionID, c *sqlitesnap.Cell, children map[sessionID]sessionID) {
	if c.Null || !id.valid() {
		return
	}
	if c.TooLong() || r.doc.Parse(c.Bytes) != nil || !r.doc.Root().IsObject() {
		r.rejected++
		return
	}
	v := r.doc.Root()
	for child := range v.Get("subComposerIds").Elems {
		children[sessionID(child.Str())] = id
	}
	list := conversation(v)
	if list.Len() == 0 {
		return
	}
	h := &head{size: uint64(c.Length)}
	sum := sha256.New()
	for _, key := range [...]string{"lastUpdatedAt", "fullConversationHeadersOnly", "conversation", "name", "status", "latestConversationSummary"} {
		sum.Write(v.Get(key).Raw())
		sum.Write([]byte{0})
	}
	h.digest = [16]byte(sum.Sum(nil))
	for bubble := range list.Elems {
		if typ := bubble.Get("type"); typ.IsNull() || isUser(typ) {
			h.prompts++
		}
	}
	h.title = texts.OneLine(v.Get("name").Str())
	h.model = modelName(v.Get("modelConfig").Get("modelName"))
	h.started, h.ended = instant(v.Get("createdAt")).Millis, instant(v.Get("lastUpdatedAt")).Millis
	h.updated = max(h.started, h.ended)
	r.byID[id] = h
}

// headers takes what the newer table of heads knows beside.
func (r *headReader) headers(ctx context.Context) error {
	has, err := r.snapshot.Has(ctx, headsTable)
	if err != nil || !has {
		return err
	}
	query := sqlitesnap.Query{Table: headsTable, Columns: []string{"workspaceId", "value"}, ByRowID: true}
	return r.snapshot.Each(ctx, query, func(row *sqlitesnap.Row) error {
		h := r.byID[sessionID(row.Key)]
		if h == nil {
			return nil
		}
		h.workspace = string(row.Cells[0].Bytes)
		if r.doc.Parse(row.Cells[1].Bytes) != nil {
			return nil
		}
		v := r.doc.Root()
		identifier := v.Get("workspaceIdentifier")
		dir := string(identifier.Get("uri").Get("fsPath").Str())
		if h.workspace == "" {
			h.workspace = string(identifier.Get("id").Str())
		}
		if parent := sessionID(v.Get("subagentInfo").Get("parentComposerId").Str()); parent.valid() && parent != sessionID(row.Key) {
			h.parent = parent
		}
		h.add(companion{title: texts.OneLine(v.Get("name").Str()), cwd: dir})
		return nil
	})
}

// conversation is the list of a session's bubbles: their heads, or in older states the bubbles themselves.
func conversation(composer canonical.Value) canonical.Value {
	if list := composer.Get("fullConversationHeadersOnly"); list.Len() > 0 {
		return list
	}
	return composer.Get("conversation")
}

func isUser(typ canonical.Value) bool {
	n, ok := typ.Int64()
	return ok && n == userBubble || typ.StrEquals("user")
}

func modelName(v canonical.Value) string {
	if name := texts.Short(v.Str(), 64); name != "default" {
		return name
	}
	return ""
}

// richer tells whether the editor's state holds more prompts than a transcript. The transcript is read only as far as it takes
// to be sure, and the bubbles only when their number does not decide.
func (l *library) richer(ctx context.Context, s *scanner, state, file *found) (bool, error) {
	if state.head.prompts == 0 {
		return false, nil
	}
	inFile, err := s.prompts(ctx, l, file, state.head.prompts)
	if err != nil || inFile >= state.head.prompts {
		return false, ctx.Err()
	}
	inState := 0
	err = patiently(func() error {
		inState = 0
		return s.rows.state(ctx, l, state, func(b *bubble) error {
			if text := b.text(); b.user && !texts.Blank(text) && !isRedacted(text) && typed(text) {
				inState++
			}
			return nil
		})
	})
	if err != nil {
		return false, ctx.Err() // a database that is in use decides nothing
	}
	return inState > inFile, nil
}
