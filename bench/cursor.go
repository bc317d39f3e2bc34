package main

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // writes the database; ctx itself only reads such ones
)

// cursor imports the state of an editor whose database has the size of a heavy user's: half of it conversations, half rows that
// are never read.
func (b *bench) cursor() error {
	home := filepath.Join(b.work, "cursor")
	path := filepath.Join(home, ".config", "Cursor", "User", "globalStorage", "state.vscdb")
	written, err := writeEditorState(path, int64(b.cursorMiB)<<20)
	if err != nil {
		return err
	}
	root := filepath.Join(b.work, "cursor-root")
	first, err := b.exec(home, root, "import", "--all", "--format", "json")
	if err != nil {
		return err
	}
	again, err := b.exec(home, root, "import", "--all", "--format", "json")
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

const (
	bubblesOfSession = 200
	orphanEvery      = 6 // bubbles of turns that were edited away
)

// writeEditorState makes a database of about so many bytes and returns its size.
func writeEditorState(path string, size int64) (int64, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		"PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF",
		"CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
		"CREATE TABLE cursorDiskKV(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
	} {
		if _, err := db.Exec(s); err != nil {
			return 0, err
		}
	}
	g := stateWriter{}
	for session := 0; g.written < size; session++ {
		if g.tx, err = db.Begin(); err != nil {
			return 0, err
		}
		if g.insert, err = g.tx.Prepare("INSERT INTO cursorDiskKV VALUES(?,?)"); err != nil {
			return 0, err
		}
		if err := g.session(session); err != nil {
			return 0, err
		}
		if err := g.tx.Commit(); err != nil {
			return 0, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), db.Close()
}

type stateWriter struct {
	tx      *sql.Tx
	insert  *sql.Stmt
	written int64
}

func (g *stateWriter) row(key string, value any, length int) error {
	g.written += int64(length)
	_, err := g.insert.Exec(key, value)
	return err
}

func (g *stateWriter) text(key, value string) error { return g.row(key, value, len(value)) }

// session writes one conversation: prompts, answers, tool calls whose results are files, and the blobs that lie beside them.
func (g *stateWriter) session(n int) error {
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n)
	var list []string
	for i := range bubblesOfSession {
		bubble, typ := fmt.Sprintf("%08x-1111-4111-8111-%012x", i, n), 2
		if i%20 == 0 {
			typ = 1
		}
		if i%orphanEvery != orphanEvery-1 {
			list = append(list, fmt.Sprintf(`{"bubbleId":"%s","type":%d}`, bubble, typ))
		}
		if err := g.text("bubbleId:"+id+":"+bubble, bubbleOf(n, i, typ)); err != nil {
			return err
		}
		blob := make([]byte, 5000)
		_, _ = rand.Read(blob) // never fails
		if err := g.row(fmt.Sprintf("agentKv:blob:%x", blob[:32]), blob, len(blob)); err != nil {
			return err
		}
	}
	return g.text("composerData:"+id, fmt.Sprintf(`{"_v":10,"composerId":"%s","name":"Session %d","createdAt":%d,"lastUpdatedAt":%d,`+
		`"fullConversationHeadersOnly":[%s],"originalFileStates":{"file":{"content":%q}}}`,
		id, n, 1767323045000+n, 1767323046000+n, strings.Join(list, ","), strings.Repeat("original line\n", 1500)))
}

func bubbleOf(n, i, typ int) string {
	at := fmt.Sprintf("2026-01-02T03:%02d:%02d.000Z", i/60, i%60)
	switch {
	case typ == 1:
		return fmt.Sprintf(`{"_v":3,"type":1,"createdAt":"%s","text":"please look at part %d of task %d"}`, at, i, n)
	case i%3 == 0:
		return fmt.Sprintf(`{"_v":3,"type":2,"createdAt":"%s","text":"part %d of task %d needs a change in the reader"}`, at, i, n)
	}
	result := fmt.Sprintf(`{"contents":%q}`, strings.Repeat(fmt.Sprintf("line %d of file %d\n", n, i), 20+i*3))
	return fmt.Sprintf(`{"_v":3,"type":2,"createdAt":"%s","toolFormerData":{"tool":5,"name":"read_file","toolCallId":"call_%d_%d",`+
		`"status":"completed","params":"{\"targetFile\":\"/w/src/file%d.go\"}","result":%q},"codeBlocks":[{"uri":{"path":"/w/src/file%d.go"}}]}`,
		at, n, i, i, result, i)
}
