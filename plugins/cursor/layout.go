package cursor

import (
	"context"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Names of the layout.
const (
	transcriptsDir = "agent-transcripts"
	subagentsDir   = "subagents"
	projectsDir    = "projects"
	chatsDir       = "chats"
	acpDir         = "acp-sessions"
	lineSuffix     = ".jsonl"
	plainSuffix    = ".txt"
	storeName      = "store.db"
	storeMetaName  = "meta.json"
	stateName      = "state.vscdb"
	globalDir      = "globalStorage"
	workspacesDir  = "workspaceStorage"
	folderName     = "workspace.json"
	logSuffix      = "-wal"
)

// place is the meaning of a file's path below a route of transcripts.
type place struct {
	id    sessionID
	slug  string // name of the project directory, "" outside of one
	plain bool   // an older transcript of plain text
	stray bool   // lines in the directory of another session
}

// placeOf reads the meaning of a file from its whole path. ok is false for everything that is no transcript.
func placeOf(route, locator string) (p place, ok bool) {
	full := strings.Split(path.Join(filepath.ToSlash(route), locator), "/")
	stem, isLines := strings.CutSuffix(full[len(full)-1], lineSuffix)
	if !isLines {
		stem, p.plain = strings.CutSuffix(stem, plainSuffix)
		if !p.plain {
			return place{}, false
		}
	}
	full[len(full)-1] = stem
	below := full[len(full)-1:]
	at := lastIndex(full[:len(full)-1], transcriptsDir)
	switch {
	case at >= 0:
		below = full[at+1:]
		if at > 0 {
			p.slug = full[at-1]
		}
	case locator != "": // the directory of a session, away from its project
		below = full[len(full)-2-strings.Count(locator, "/"):]
	}
	switch {
	case len(below) == 1:
		p.id = sessionID(below[0])
	case len(below) == 2 && below[0] == stem:
		p.id = sessionID(stem)
	case len(below) == 2:
		p.id, p.stray = sessionID(below[0]), true
	case len(below) == 3 && below[1] == subagentsDir && isLines:
		p.id = sessionID(below[0] + subagentInfix + stem)
	}
	return p, p.id.valid() && !(p.stray && p.plain) && (len(below) == 3 || !strings.Contains(string(p.id), "/"))
}

func lastIndex(parts []string, name string) int {
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i] == name {
			return i
		}
	}
	return -1
}

// transcriptFile tells whether a file below a route may be a transcript.
func transcriptFile(route string) func(locator string) bool {
	return func(locator string) bool { _, ok := placeOf(route, locator); return ok }
}

// transcriptDir tells whether a directory below a route may hold transcripts: projects, their directories of transcripts, of
// sessions and of subagents.
func transcriptDir(route string) func(locator string) bool {
	inside := lastIndex(strings.Split(filepath.ToSlash(route), "/"), transcriptsDir) >= 0
	return func(locator string) bool {
		parts := strings.Split(locator, "/")
		at := lastIndex(parts, transcriptsDir)
		switch {
		case at < 0 && !inside:
			return len(parts) == 1 || len(parts) == 2 && parts[0] == projectsDir
		case len(parts)-at > 2:
			return len(parts)-at == 3 && parts[len(parts)-1] == subagentsDir
		}
		return true
	}
}

// storeFile tells whether a file below a route of the CLI may be a store, its log or its description.
func storeFile(locator string) bool {
	switch path.Base(locator) {
	case storeName, storeName + logSuffix, storeMetaName:
		return strings.Contains(locator, "/")
	}
	return false
}

// storeDir tells whether a directory may hold stores: `<hash>/<session>` below `chats`, `<session>` below `acp-sessions`.
func storeDir(locator string) bool { return strings.Count(locator, "/") < 2 }

// storePlace reads session and directory hash from the path of a store.
func storePlace(whole string) (id sessionID, dirHash string) {
	parts := strings.Split(filepath.ToSlash(whole), "/")
	if len(parts) < 2 {
		return "", ""
	}
	if at := len(parts) - 3; at >= 0 && len(parts[at]) == 32 && strings.Trim(parts[at], "0123456789abcdef") == "" {
		dirHash = parts[at]
	}
	return sessionID(parts[len(parts)-2]), dirHash
}

// Limits of files that are read whole. A plain-text transcript is one document: it is read whole or not at all.
const (
	maxPlain = 16 << 20
	maxSmall = 1 << 20
)

// whole returns what an open file holds, nil if that is more than a limit.
func whole(f *jsonl.File, limit uint64) ([]byte, error) {
	size := f.Observation().Size
	if size == 0 || size > limit {
		return nil, nil
	}
	text := make([]byte, size)
	switch _, err := f.ReadAt(text, 0); {
	case errors.Is(err, io.EOF):
		return nil, &jsonl.Failure{Class: jsonl.Changed, Reason: "the file was cut during the scan"}
	case err != nil:
		return nil, &jsonl.Failure{Class: jsonl.Unreadable, Reason: "reading failed"}
	}
	return text, nil
}

// small returns what a description beside a history holds.
func (l *library) small(route, locator string) ([]byte, error) {
	f, err := jsonl.Open(route, locator, l.Work)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return whole(f, maxSmall)
}

// prefix tells whether one of two files is the beginning of the other. A file that cannot be read is told when it is scanned.
func (l *library) prefix(ctx context.Context, a, b *found) (bool, error) {
	var open [2]*jsonl.File
	for i, f := range [...]*found{a, b} {
		file, err := jsonl.Open(l.routes[f.route].Path, f.locator, l.Work)
		if err != nil {
			return true, nil
		}
		defer file.Close()
		open[i] = file
	}
	var room [2][64 << 10]byte
	left := min(a.seen.Size, b.seen.Size)
	for at := uint64(0); at < left; {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		n := int(min(left-at, uint64(len(room[0]))))
		for i, f := range open {
			if _, err := f.ReadAt(room[i][:n], int64(at)); err != nil {
				return true, nil
			}
		}
		if string(room[0][:n]) != string(room[1][:n]) {
			return false, nil
		}
		at += uint64(n)
	}
	return true, nil
}
