package codex

import (
	"path"
	"path/filepath"
	"strings"
)

// Names of the layout of a home.
const (
	sessionsDir  = "sessions"
	archivedDir  = "archived_sessions"
	promptFile   = "history.jsonl"
	titleFile    = "session_index.jsonl"
	rawSuffix    = ".jsonl"
	packedSuffix = ".jsonl.zst"

	uuidLength = 36
)

// packed tells whether a file is compressed.
func packed(locator string) bool { return strings.HasSuffix(locator, packedSuffix) }

// rollout tells whether a file of a tree may be one. The logs of a home are not, when a home itself is the tree.
func rollout(locator string) bool {
	return (strings.HasSuffix(locator, rawSuffix) || packed(locator)) && locator != promptFile && locator != titleFile
}

// stemOf returns the name of a file without its suffix.
func stemOf(name string) string {
	name = path.Base(filepath.ToSlash(name))
	if stem, ok := strings.CutSuffix(name, packedSuffix); ok {
		return stem
	}
	return strings.TrimSuffix(name, rawSuffix)
}

// tailUUID returns the UUID that a stem ends with, "" if there is none.
func tailUUID(stem string) string {
	if len(stem) < uuidLength || !isUUID(stem[len(stem)-uuidLength:]) {
		return ""
	}
	return stem[len(stem)-uuidLength:]
}

// expectedOwner returns the thread that a stem names. A stem that ends with two UUIDs names a thread whose history was cut back:
// its owner stands in the file alone.
func expectedOwner(stem string) string {
	tail := tailUUID(stem)
	if tail == "" {
		return ""
	}
	if before, joined := strings.CutSuffix(stem[:len(stem)-uuidLength], "_"); joined && tailUUID(before) != "" {
		return ""
	}
	return tail
}

// isUUID tells whether all characters of an id are hexadecimal digits or '-', as those of file names are.
func isUUID(id string) bool { return id != "" && strings.Trim(id, "0123456789abcdefABCDEF-") == "" }

// homeOf returns the home that a route lies in: above the trees, beside the prompt log; a file named alone lies in the home of its
// tree, or in its directory.
func homeOf(route string, directory bool) string {
	if directory {
		if base := filepath.Base(route); base == sessionsDir || base == archivedDir {
			return filepath.Dir(route)
		}
		return route
	}
	for dir := filepath.Dir(route); ; dir = filepath.Dir(dir) {
		if base := filepath.Base(dir); base == sessionsDir || base == archivedDir {
			return filepath.Dir(dir)
		}
		if dir == filepath.Dir(dir) {
			return filepath.Dir(route)
		}
	}
}
