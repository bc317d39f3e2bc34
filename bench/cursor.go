package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // writes the database; ctx itself only reads such ones
)

// cursor imports the state of an editor whose database has the size of a heavy user's: half of it conversations, half rows that
// are never read.
func (b *bench) cursor() error {
	home, root := filepath.Join(b.work, "cursor"), filepath.Join(b.work, "cursor-root")
	written, err := writeEditorState(filepath.Join(home, ".config", "Cursor", "User", "globalStorage", "state.vscdb"), int64(b.cursorMiB)<<20)
	if err != nil {
		return err
	}
	first, err := b.importAll(home, root)
	if err != nil {
		return err
	}
	again, err := b.importAll(home, root)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("editor state of %d MiB", written>>20)
	b.add(what+", cold import", "s", "", []float64{first.wall.Seconds()})
	b.add(what+", plugin RSS", "MiB", "<= 200", []float64{mib(first.pluginRSS)})
	b.add(what+", host RSS", "MiB", "<= 600", []float64{mib(first.hostRSS)})
	b.add(what+", no-op refresh", "s", "", []float64{again.wall.Seconds()})
	return os.RemoveAll(home)
}

// emptyState prepares the database: its two tables, and the numbers of the bubbles of a conversation.
const emptyState = `
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
CREATE TABLE cursorDiskKV(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
CREATE TEMP TABLE bubble AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 199)
	SELECT i, CASE WHEN i%20 = 0 THEN 1 ELSE 2 END AS type, printf('2026-01-02T03:%02d:%02d.000Z', i/60, i%60) AS at FROM n;`

// conversation adds session ?1: prompts, answers, tool calls whose results are files, and the blobs that lie beside them. Every sixth
// bubble belongs to a turn that was edited away.
const conversation = `
INSERT INTO cursorDiskKV SELECT printf('bubbleId:%08x-0000-4000-8000-%012x:%08x-1111-4111-8111-%012x', ?1, ?1, i, ?1),
	CASE WHEN type = 1 THEN json_object('_v', 3, 'type', 1, 'createdAt', at, 'text', printf('please look at part %d of task %d', i, ?1))
	WHEN i%3 = 0 THEN json_object('_v', 3, 'type', 2, 'createdAt', at, 'text', printf('part %d of task %d needs a change in the reader', i, ?1))
	ELSE json_object('_v', 3, 'type', 2, 'createdAt', at, 'toolFormerData', json_object('tool', 5, 'name', 'read_file',
		'toolCallId', printf('call_%d_%d', ?1, i), 'status', 'completed', 'params', printf('{"targetFile":"/w/src/file%d.go"}', i),
		'result', '' || json_object('contents', replace(printf('%.*c', 20+i*3, '#'), '#', printf('line %d of file %d', ?1, i) || char(10)))),
		'codeBlocks', json_array(json_object('uri', json_object('path', printf('/w/src/file%d.go', i))))) END FROM bubble;
INSERT INTO cursorDiskKV SELECT 'agentKv:blob:' || hex(randomblob(32)), randomblob(5000) FROM bubble;
INSERT INTO cursorDiskKV SELECT printf('composerData:%08x-0000-4000-8000-%012x', ?1, ?1), json_object('_v', 10,
	'composerId', printf('%08x-0000-4000-8000-%012x', ?1, ?1), 'name', 'Session ' || ?1, 'createdAt', 1767323045000+?1, 'lastUpdatedAt', 1767323046000+?1,
	'fullConversationHeadersOnly', json((SELECT json_group_array(json_object('bubbleId', printf('%08x-1111-4111-8111-%012x', i, ?1), 'type', type))
		FROM bubble WHERE i%6 <> 5)),
	'originalFileStates', json_object('file', json_object('content', replace(printf('%.*c', 1500, '#'), '#', 'original line' || char(10)))));`

// writeEditorState makes a database of about so many bytes and returns its size.
func writeEditorState(path string, size int64) (written int64, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec(emptyState)
	for session := 0; err == nil && written < size; session++ {
		if _, err = db.Exec("BEGIN;"+conversation+"COMMIT", session); err == nil {
			var info os.FileInfo
			if info, err = os.Stat(path); err == nil {
				written = info.Size()
			}
		}
	}
	return written, err
}
