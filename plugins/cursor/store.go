package cursor

import (
	"context"
	"encoding/hex"
	"path"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/sqlitesnap"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

var storeTables = sqlitesnap.Options{Tables: []sqlitesnap.Table{
	{Name: "meta", Columns: []string{"value"}, Key: "key", Keys: []string{"0"}},
	{Name: "blobs", Columns: []string{"data"}, Key: "id"},
}}

const (
	maxMessages = 1 << 18 // of one session
	blobIDBytes = 32
)

// storeHead adds what a CLI store says of its session: the description beside it and the one row of its own.
func (r *rows) storeHead(ctx context.Context, l *library, f *found, c *companion) error {
	if err := r.storeMeta(l, f, c); err != nil {
		return err
	}
	snapshot, err := sqlitesnap.Open(ctx, l.pathOf(f), storeTables)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	return r.storeRow(ctx, snapshot, c)
}

func (l *library) pathOf(f *found) string {
	return filepath.Join(l.routes[f.route].Path, filepath.FromSlash(f.locator))
}

func (r *rows) storeMeta(l *library, f *found, c *companion) error {
	if f.meta.Size == 0 {
		return nil
	}
	route, locator := l.routes[f.route].Path, path.Join(path.Dir(f.locator), storeMetaName)
	if f.locator == "" {
		route, locator = filepath.Dir(route), storeMetaName
	}
	text, err := l.small(route, locator)
	if err == nil && r.doc.Parse(text) == nil {
		v := r.doc.Root()
		c.add(companion{
			title: texts.OneLine(v.Get("title").Str()), cwd: string(v.Get("cwd").Str()),
			started: instant(v.Get("createdAtMs")).Millis, ended: instant(v.Get("updatedAtMs")).Millis,
		})
	}
	return err
}

// storeRow reads the description inside the database: JSON, mostly written in hexadecimal digits.
func (r *rows) storeRow(ctx context.Context, snapshot *sqlitesnap.Snapshot, c *companion) error {
	_, err := snapshot.Get(ctx, "meta", "0", []string{"value"}, func(row *sqlitesnap.Row) error {
		value := row.Cells[0].Bytes
		if plain, err := hex.AppendDecode(nil, value); err == nil {
			value = plain
		}
		if !r.parse(value) {
			return nil
		}
		v := r.doc.Root()
		c.add(companion{
			title: texts.OneLine(v.Get("name").Str()), cwd: string(v.Get("workspacePath").Str()), model: modelName(v.Get("lastUsedModel")),
			started: instant(v.Get("createdAt")).Millis,
		})
		return nil
	})
	return err
}

// scanStore reads the session of a CLI store: every message that a root lists, the roots in the order of their rows.
func (s *scanner) scanStore(ctx context.Context, req *sdkplugin.ScanRequest, out sink) error {
	snapshot, err := sqlitesnap.Open(ctx, req.Path(), storeTables)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	if err := out.Begin(sdkplugin.ModeFull); err != nil {
		return err
	}
	r := &s.rows
	r.begin(s.found.id, "", "", out)
	r.start()
	order, err := r.messages(ctx, snapshot)
	if err != nil {
		return err
	}
	if len(order) > maxMessages {
		order = order[:maxMessages]
		s.diagnose("partial_session", "more messages than one session may have")
	}
	missing := 0
	for index, id := range order {
		name := hex.EncodeToString([]byte(id))
		has, err := snapshot.Get(ctx, "blobs", name, []string{"data"}, func(row *sqlitesnap.Row) error {
			if err := r.took(&row.Cells[0]); err != nil {
				return err
			}
			return s.message(uint64(index), name, &row.Cells[0], out)
		})
		if err != nil {
			return err
		}
		if !has {
			missing++
		}
	}
	if missing > 0 {
		s.diagnose("partial_session", "messages that the session lists are not in the database")
	}
	if err := snapshot.Verify(); err != nil {
		return err
	}
	return s.endRows(ctx, out)
}

// messages returns the ids that the roots list, each at its first place.
func (r *rows) messages(ctx context.Context, snapshot *sqlitesnap.Snapshot) ([]string, error) {
	var order []string
	seen := map[string]bool{}
	query := sqlitesnap.Query{Table: "blobs", Columns: []string{"data"}, ByRowID: true}
	err := snapshot.Each(ctx, query, func(row *sqlitesnap.Row) error {
		for _, id := range rootList(row.Cells[0].Bytes) {
			if !seen[string(id)] && len(order) <= maxMessages {
				seen[string(id)] = true
				order = append(order, string(id))
			}
		}
		return nil
	})
	return order, err
}

// rootList reads the ids of a root blob: a protobuf message whose field 1 is a list of SHA-256 digests. Anything else, such as a
// message or an encrypted blob, is no root.
func rootList(data []byte) (ids [][]byte) {
	if len(data) < 2 || data[0] != 1<<3|byte(protowire.BytesType) && data[0] != 2<<3|byte(protowire.BytesType) {
		return nil
	}
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil
		}
		data = data[n:]
		if number == 1 {
			id, n := protowire.ConsumeBytes(data)
			if typ != protowire.BytesType || n < 0 || len(id) != blobIDBytes {
				return nil
			}
			ids = append(ids, id)
			data = data[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, typ, data); n < 0 {
			return nil
		}
		data = data[n:]
	}
	return ids
}

// message maps one message. A blob that a root lists and that is no JSON is another part of the tree or encrypted.
func (s *scanner) message(index uint64, id string, c *sqlitesnap.Cell, out sink) error {
	r := &s.rows
	switch {
	case c.TooLong():
		return out.Reject(sdkplugin.Rejection{Detail: "a message over 16 MiB"})
	case !r.parse(c.Bytes):
		s.Ignored++
		return nil
	}
	r.given = 0
	defect, err := r.message(index, id)
	switch {
	case err != nil:
		return err
	case defect != "":
		return out.Reject(sdkplugin.Rejection{Detail: defect})
	}
	s.count()
	return nil
}

func (r *rows) message(index uint64, id string) (defect string, err error) {
	v := r.doc.Root()
	r.at, r.sequence = instant(v.Get("createdAt")), index<<16
	content := v.Get("content")
	role := v.Get("role")
	if !role.IsString() {
		return "a message without a role", nil
	}
	name := string(role.Str())
	if name == sdkplugin.RoleAssistant {
		r.learned.model([]byte(modelName(v.Get("providerOptions").Get("cursor").Get("modelName"))))
	}
	r.part = 0
	r.key = func() sdkplugin.NativeKey {
		r.keys = sdkplugin.AppendComposite(r.keys[:0], blobNamespace, 1)
		r.keys = sdkplugin.AppendUtf8(r.keys, id+"#"+strconv.FormatUint(r.part, 10))
		return r.keys
	}
	if content.IsString() {
		return "", r.element(name, content, content)
	}
	if content.Len() > sdkplugin.MaxEventsRecord {
		return tooManyEvents, nil
	}
	for b := range content.Elems {
		if err := r.element(name, b, b.Get("text")); err != nil {
			return "", err
		}
		r.part++
	}
	return "", nil
}

// element gives the event of one block; text is what it says if it is a text.
func (r *rows) element(role string, b, text canonical.Value) error {
	spoken := role == sdkplugin.RoleUser || role == sdkplugin.RoleAssistant
	typ := string(b.Get("type").Str())
	switch {
	case spoken && (b.IsString() || typ == "text"):
		return r.spoken(role, text.Str())
	case typ == "tool-call":
		arguments, _ := r.decoded(b.Get("args"))
		return r.call(&tool{id: b.Get("toolCallId").Str(), name: b.Get("toolName").Str(), arguments: arguments})
	case typ == "tool_use" && role == sdkplugin.RoleAssistant:
		arguments, _ := r.decoded(b.Get("input"))
		return r.call(&tool{id: b.Get("id").Str(), name: b.Get("name").Str(), arguments: arguments})
	case typ == "tool-result":
		t := tool{id: b.Get("toolCallId").Str(), name: b.Get("toolName").Str(), result: b.Get("result")}
		if failed, _ := b.Get("isError").Bool(); failed {
			t.status = "error"
		}
		if t.result.IsNull() {
			if parts := appendTexts(nil, b.Get("experimental_content")); len(parts) > 0 {
				t.text = r.Join(parts)
			}
		}
		return r.output(&t)
	}
	return nil
}
