package cursor

import (
	"context"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/sqlitesnap"
)

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
