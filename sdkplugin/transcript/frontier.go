package transcript

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// MaxFrontier is the longest frontier that is written; it leaves room for what the host adds.
const MaxFrontier = 48 << 10

// frontier is what an append needs to go on: which file was read and how many of its lines, what else the state depends on, and
// the state of the mapping, unless that is too long.
type frontier struct {
	Version        int
	Device, FileID uint64
	Lines          uint64
	Beside         []byte          `json:",omitempty"`
	State          json.RawMessage `json:",omitempty"`
}

// Ending certifies the lines that were handed out. version is that of the state's form; beside is what a
// state depends on outside of the file. A state that is nil or too long is left out.
func (s *Scanner) Ending(seen jsonl.Observation, version int, beside string, state any) sdkplugin.Ending {
	c := s.Reader.Checkpoint()
	f := frontier{Version: version, Device: seen.Device, FileID: seen.FileID, Lines: c.Lines, Beside: []byte(beside)}
	text, err := json.Marshal(f)
	if f.State, _ = json.Marshal(state); err == nil && string(f.State) != "null" {
		if long, failed := json.Marshal(f); failed == nil && len(long) <= MaxFrontier {
			text = long
		}
	}
	return sdkplugin.Ending{Observation: seen.Token(), CertifiedBytes: c.Offset, ContentDigest: c.Digest, Frontier: text}
}

// Resume returns the place from which an append goes on and the state there: known is false when there was no room for it, ok
// when the frontier is of another file, version or neighbour, so that the file is to be read from its start. That the prefix is
// still there is for the caller to verify.
func Resume[State any](req *sdkplugin.ScanRequest, o jsonl.Observation, version int, beside string) (place jsonl.Checkpoint, state State, known, ok bool) {
	var f frontier
	if req.Mode != sdkplugin.ModeAppend || json.Unmarshal(req.Frontier, &f) != nil || f.Version != version || f.Device != o.Device ||
		f.FileID != o.FileID || string(f.Beside) != beside || o.Size < req.CertifiedBytes || len(req.ContentDigest) != sha256.Size {
		return place, state, false, false
	}
	known = len(f.State) > len("null") && json.Unmarshal(f.State, &state) == nil
	return jsonl.Checkpoint{Offset: req.CertifiedBytes, Lines: f.Lines, Digest: [32]byte(req.ContentDigest)}, state, known, true
}

// Models are the names of the models that answered in a session.
type Models struct {
	Newest string
	All    []string // in order
}

const maxModels = 64

// Learn takes the name of a model; the same one again costs nothing.
func (m *Models) Learn(name []byte) {
	if len(name) == 0 || string(name) == m.Newest {
		return
	}
	m.Newest = string(name)
	if len(m.All) < maxModels && !slices.Contains(m.All, m.Newest) {
		m.All = append(m.All, m.Newest)
	}
}

// Times are the first and the last of some times in milliseconds since 1970.
type Times struct {
	Known       bool
	First, Last int64
}

// Learn takes a time.
func (t *Times) Learn(at sdkplugin.Instant) {
	switch {
	case !at.Known:
	case t.Known:
		t.First, t.Last = min(t.First, at.Millis), max(t.Last, at.Millis)
	default:
		*t = Times{true, at.Millis, at.Millis}
	}
}

// Span returns both as instants, unknown ones if there was none.
func (t *Times) Span() (first, last sdkplugin.Instant) {
	return sdkplugin.Instant{Millis: t.First, Known: t.Known}, sdkplugin.Instant{Millis: t.Last, Known: t.Known}
}
