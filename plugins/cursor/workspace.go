package cursor

import (
	"context"
	"net/url"
	"os"
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

const (
	maxWorkspaces = 4096
	maxFolderFile = 1 << 20
)

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
		w = &workspaces{folders: map[string]string{}, route: filepath.Join(l.routes[f.route].Path, workspacesDir)}
		w.readFolders()
		l.workspaces[f.route] = w
	}
	if dir := w.folders[f.head.workspace]; dir != "" {
		return dir
	}
	if w.of == nil {
		w.of = map[sessionID]string{}
		for _, name := range sortedKeys(w.folders) {
			if ctx.Err() != nil {
				w.of = nil
				return ""
			}
			w.readSessions(ctx, name)
		}
	}
	return w.folders[w.of[f.id]]
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// readFolders reads the folder of every workspace.
func (w *workspaces) readFolders() {
	dir, err := os.Open(w.route)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxWorkspaces)
	var doc canonical.Doc
	for _, name := range names {
		f, err := jsonl.Open(w.route, name+"/"+folderName, nil)
		if err != nil {
			continue
		}
		if n := f.Observation().Size; n <= maxFolderFile {
			text := make([]byte, n)
			if _, err := f.ReadAt(text, 0); err == nil && doc.Parse(text) == nil {
				v := doc.Root().Get("folder")
				if v.IsNull() {
					v = doc.Root().Get("workspace")
				}
				if folder := pathOfURI(string(v.Str())); folder != "" {
					w.folders[name] = folder
				}
			}
		}
		f.Close()
	}
}

// readSessions reads which sessions a workspace lists. A database that cannot be read lists none.
func (w *workspaces) readSessions(ctx context.Context, name string) {
	snapshot, err := sqlitesnap.Open(ctx, filepath.Join(w.route, name, stateName), workspaceTables)
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
