package cursor

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/sqlitesnap"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// Bounds of what is remembered of one session.
const (
	maxWorkdirs = 64
	maxPath     = 4 << 10
)

// learned is what the events of a session tell about it. It is part of frontiers.
type learned struct {
	Prompt    string         // the first one, as a title
	Workspace string         // that a context names
	Workdirs  map[string]int // directories of shell calls
	Models    transcript.Models
	Times     transcript.Times // of events
	Tags      transcript.Times // stated by contexts
	Vague     bool             // one of them without a zone
}

func newLearned() *learned { return &learned{Workdirs: map[string]int{}} }

func (l *learned) prompt(text []byte) {
	if l.Prompt == "" {
		l.Prompt = promptTitle(text)
	}
}

// context takes what the context of a prompt tells.
func (l *learned) context(text []byte) {
	if len(text) == 0 {
		return
	}
	if l.Workspace == "" {
		if dir := workspacePath(text); len(dir) <= maxPath {
			l.Workspace = dir
		}
	}
	if t, ok := tagTimeOf(text); ok && plausible(t.at).Known {
		l.Tags.Learn(sdkplugin.At(t.at))
		l.Vague = l.Vague || !t.zoned
	}
}

// workdir counts a directory that a shell call ran in.
func (l *learned) workdir(dir []byte) {
	if len(dir) == 0 || len(dir) > maxPath {
		return
	}
	if _, known := l.Workdirs[string(dir)]; known || len(l.Workdirs) < maxWorkdirs {
		l.Workdirs[string(dir)]++
	}
}

func (l *learned) model(name []byte) {
	if len(name) <= 256 && string(name) != "default" {
		l.Models.Learn(name)
	}
}

// mostUsed is the directory that most shell calls ran in, the first by name among equals.
func (l *learned) mostUsed() string {
	best := ""
	for dir, n := range l.Workdirs {
		if best == "" || n > l.Workdirs[best] || n == l.Workdirs[best] && dir < best {
			best = dir
		}
	}
	return best
}

// companion is what the heads of all stores of a session know of it.
type companion struct {
	title, cwd, model string
	dirHash           string // name of the directory's directory below `chats`
	slug              string // name of the directory's directory below `projects`
	started, ended    int64  // milliseconds; 0 = unknown
}

// add fills in what is not known yet. A path that is too long is none.
func (c *companion) add(o companion) {
	if len(o.cwd) > maxPath {
		o.cwd = ""
	}
	c.title, c.cwd, c.model = cmp.Or(c.title, o.title), cmp.Or(c.cwd, o.cwd), cmp.Or(c.model, o.model)
	c.dirHash, c.started, c.ended = cmp.Or(c.dirHash, o.dirHash), cmp.Or(c.started, o.started), cmp.Or(c.ended, o.ended)
}

// metadata describes the session.
func (e *emitter) metadata(c *companion, modTimeNS int64) sdkplugin.SessionMetadata {
	l := e.learned
	m := sdkplugin.SessionMetadata{
		Session: e.session, Title: cmp.Or(c.title, l.Prompt), Model: cmp.Or(l.Models.Newest, c.model), Models: l.Models.All,
		CWD: c.cwd,
	}
	if m.CWD == "" {
		m.CWD = chooseDir(c.slug, c.dirHash, l.Workspace, l.mostUsed())
	}
	if len(m.Models) == 0 && m.Model != "" {
		m.Models = []string{m.Model}
	}
	if m.CWD == "" && named(c.slug) {
		m.WorkspaceLabel = c.slug
	}
	switch {
	case l.Times.Known:
		m.StartedAt, m.EndedAt = l.Times.Span()
	case l.Tags.Known:
		m.StartedAt, m.EndedAt = l.Tags.Span()
		m.ApproximateTimes = l.Vague
	case c.started > 0:
		m.StartedAt, m.EndedAt = sdkplugin.AtMillis(c.started), sdkplugin.AtMillis(max(c.started, c.ended))
	default:
		at := sdkplugin.At(time.Unix(0, modTimeNS))
		m.StartedAt, m.EndedAt, m.ApproximateTimes = at, at, true
	}
	return m
}

// chooseDir returns the first directory that Cursor's own names confirm, itself or one above it, else the first absolute one.
func chooseDir(slug, dirHash string, dirs ...string) string {
	first := ""
	for _, dir := range dirs {
		if !absolute(dir) {
			continue
		}
		first = cmp.Or(first, dir)
		for up := dir; up != ""; up = up[:max(0, strings.LastIndexAny(up, `/\`))] {
			if named(slug) && slugOf(up) == slugOf(slug) || dirHash != "" && hashOf(up) == dirHash {
				return up
			}
		}
	}
	return first
}

// hashOf is the name that the command line gives to the directory of a workspace below `chats`.
func hashOf(dir string) string {
	sum := md5.Sum([]byte(dir)) // a name of Cursor's, not a protection
	return hex.EncodeToString(sum[:])
}

// slugOf is the name that Cursor gives to the project directory of a workspace. It cannot be read backwards.
func slugOf(dir string) string {
	var slug []byte
	for _, b := range []byte(dir) {
		switch letter := b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9'; {
		case letter:
			slug = append(slug, b)
		case len(slug) > 0 && slug[len(slug)-1] != '-':
			slug = append(slug, '-')
		}
	}
	if len(slug) > 0 && len(dir) > 1 && dir[1] == ':' {
		slug[0] |= 0x20
	}
	return strings.TrimSuffix(string(slug), "-")
}

// named tells whether a slug stands for a directory: windows without one have a number or a name of their own.
func named(slug string) bool {
	_, err := strconv.ParseUint(slug, 10, 64)
	return slug != "" && slug != "empty-window" && err != nil
}

// absolute tells whether a path is one of any system.
func absolute(dir string) bool {
	return strings.HasPrefix(dir, "/") || strings.HasPrefix(dir, `\\`) || len(dir) > 2 && dir[1] == ':' && (dir[2] == '/' || dir[2] == '\\')
}

var workspaceTables = sqlitesnap.Options{Tables: []sqlitesnap.Table{
	{Name: "ItemTable", Columns: []string{"value"}, Key: "key", Keys: []string{"composer.composerData"}},
}}

const maxWorkspaces = 4096

// workspaces tells which directory a session of the editor belongs to.
type workspaces struct {
	folders map[string]string    // by the name of the workspace's directory
	of      map[sessionID]string // the name of the workspace's directory, nil until it is asked for
	route   string
}

// workspaceOf returns the directory of a session, "" if nothing tells. The databases of the workspaces are looked at only when a
// session does not name its workspace, once for all sessions.
func (l *library) workspaceOf(ctx context.Context, f *found) string {
	if f.locator == "" {
		return "" // an exact database: what lies beside it was not granted
	}
	l.workspaceLock.Lock()
	defer l.workspaceLock.Unlock()
	w := l.workspaces[f.route]
	if w == nil {
		w = &workspaces{folders: map[string]string{}, route: l.routes[f.route].Path}
		w.readFolders(ctx, l)
		l.workspaces[f.route] = w
	}
	if dir := w.folders[f.head.workspace]; dir != "" {
		return dir
	}
	if w.of == nil {
		w.of = map[sessionID]string{}
		for _, name := range slices.Sorted(maps.Keys(w.folders)) {
			if ctx.Err() != nil {
				w.of = nil
				return ""
			}
			w.readSessions(ctx, name)
		}
	}
	return w.folders[w.of[f.id]]
}

// readFolders reads the folder of every workspace. What cannot be read names none.
func (w *workspaces) readFolders(ctx context.Context, l *library) {
	tree, err := jsonl.Walk{
		Route: w.route, Work: l.Work,
		Match: func(locator string) bool {
			ok, _ := path.Match(workspacesDir+"/*/"+folderName, locator)
			return ok
		},
		Descend: func(locator string) bool { return locator == workspacesDir || path.Dir(locator) == workspacesDir },
	}.Run(ctx)
	if err != nil {
		return
	}
	var doc canonical.Doc
	for _, entry := range tree.Entries[:min(len(tree.Entries), maxWorkspaces)] {
		text, err := l.small(w.route, entry.Locator)
		if err != nil || doc.Parse(text) != nil {
			continue
		}
		v := doc.Root().Get("folder")
		if v.IsNull() {
			v = doc.Root().Get("workspace")
		}
		if folder := pathOfURI(string(v.Str())); folder != "" {
			w.folders[path.Base(path.Dir(entry.Locator))] = folder
		}
	}
}

// readSessions reads which sessions a workspace lists. A database that cannot be read lists none.
func (w *workspaces) readSessions(ctx context.Context, name string) {
	snapshot, err := sqlitesnap.Open(ctx, filepath.Join(w.route, workspacesDir, name, stateName), workspaceTables)
	if err != nil {
		return
	}
	defer snapshot.Close()
	var doc canonical.Doc
	_, _ = snapshot.Get(ctx, "ItemTable", "composer.composerData", []string{"value"}, func(row *sqlitesnap.Row) error {
		if doc.Parse(row.Cells[0].Bytes) == nil {
			for composer := range doc.Root().Get("allComposers").Elems {
				w.of[sessionID(composer.Get("composerId").Str())] = name
			}
		}
		return nil
	})
}

// pathOfURI returns the path that a workspace's URI names. That of a file with a list of folders stands for its directory.
func pathOfURI(uri string) string {
	scheme, rest, _ := strings.Cut(uri, "://")
	if scheme != "file" && scheme != "vscode-remote" {
		return ""
	}
	path, err := url.PathUnescape(rest[max(0, strings.IndexByte(rest, '/')):]) // behind the name of a machine
	if err != nil {
		return ""
	}
	if len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:]
	}
	if strings.HasSuffix(path, ".code-workspace") {
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}
