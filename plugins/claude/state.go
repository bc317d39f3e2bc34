package claude

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/digest"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// lineage says how a main session came to be, as its first chain record tells.
type lineage uint8

const (
	lineageUnknown lineage = iota // no chain record yet
	lineageRoot
	lineageForked
	lineageResumed
)

// state is what the reading of a file has learned so far. A full scan builds it from nothing; an append continues from the
// one in the frontier, so that both end in the same state. The frontier has all of it but the uuids. Those are found again in the
// certified prefix, which has to be read for its digest anyway: every text under a key `uuid`, at any depth, may be one. Only when
// a new record has such a text as its uuid the prefix is parsed to find out. A state that does not fit is left out; the append
// then always parses the prefix.
type state struct {
	Lineage  lineage
	Ancestor string // session that the file was forked or resumed from

	Pairs       fingerprints   // message ids with the index of an event that are taken as keys
	Links       fingerprints   // addresses of pull requests
	Occurrences digest.Counter // content digests and how often they came
	Titles      titles
	CWD         string // first directory
	Relocated   string // latest directory that replaces it
	Worktree    string // directory of a worktree
	Branch      string // first branch that is not a detached head
	LastBranch  string

	Models                     transcript.Models
	Version, LastVersion       string
	Entrypoint, LastEntrypoint string
	Times                      transcript.Times

	seen   fingerprints // uuids; after an append those behind the prefix
	oddKey bool         // a uuid is there that collect does not find
}

const (
	frontierVersion = 3
	maxRare         = 1 << 10 // hashes that a frontier may hold
)

// kept returns the state if it can be part of a frontier.
func (s *state) kept() *state {
	if s.oddKey || len(s.Pairs)+len(s.Links)+len(s.Occurrences) > maxRare {
		return nil
	}
	return s
}

// ready makes the sets of an empty state or of one from a frontier.
func (s *state) ready() *state {
	for _, set := range [...]*fingerprints{&s.Pairs, &s.Links, &s.seen} {
		if *set == nil {
			*set = fingerprints{}
		}
	}
	if s.Occurrences == nil {
		s.Occurrences = digest.Counter{}
	}
	return s
}

// trace learns from a chain record where its file comes from; only the first one tells.
func (s *state) trace(r *record, key sessionKey) {
	if s.Lineage != lineageUnknown {
		return
	}
	s.Lineage = lineageRoot
	if !key.main() {
		return
	}
	if from := forkedFrom(r); from != "" && from != key.root {
		s.Lineage, s.Ancestor = lineageForked, from
	} else if id := r.sessionID.Str(); len(id) > 0 && string(id) != key.root {
		s.Lineage, s.Ancestor = lineageResumed, string(id)
	}
}

// forkedFrom returns the session that a copied record names as its origin.
func forkedFrom(r *record) string {
	if r.forkedFrom.IsObject() {
		return texts.Short(r.forkedFrom.Get("sessionId").Str(), maxField)
	}
	return texts.Short(r.forkedFrom.Str(), maxField)
}

// learn takes the metadata of an accepted record of a time.
func (s *state) learn(r *record, at sdkplugin.Instant) {
	switch r.family {
	case stateRecord:
		s.learnState(r)
		return
	case summaryRecord:
		s.Titles.addSummary(r.root.Get("leafUuid").Str(), r.summary.Str())
		return
	}
	if !r.family.chain() {
		return
	}
	if s.CWD == "" {
		s.CWD = string(r.cwd.Str())
	}
	if b := r.branch.Str(); string(b) != "HEAD" {
		learnPair(&s.Branch, &s.LastBranch, b)
	}
	learnPair(&s.Version, &s.LastVersion, r.version.Str())
	if entrypoint := r.entrypoint.Str(); len(entrypoint) <= maxField {
		learnPair(&s.Entrypoint, &s.LastEntrypoint, entrypoint)
	}
	if name := r.model.Str(); r.family == assistantRecord && len(name) <= maxField && !bytes.HasPrefix(name, []byte("<")) {
		s.Models.Learn(name)
	}
	s.Times.Learn(at)
}

func (s *state) learnState(r *record) {
	switch string(r.typ.Str()) {
	case "custom-title":
		s.Titles.addCustom(r.root.Get("customTitle").Str())
	case "ai-title":
		s.Titles.addAI(r.root.Get("aiTitle").Str())
	case "relocated":
		s.Relocated = cmp.Or(texts.Short(r.root.Get("relocatedCwd").Str(), maxField), s.Relocated)
	case "worktree-state":
		worktree := r.root.Get("worktreeSession")
		s.Titles.addWorktree(worktree.Get("worktreeName").Str())
		s.Worktree = cmp.Or(texts.Short(worktree.Get("worktreePath").Str(), maxField), s.Worktree)
	}
}

// learnPair keeps the first and the last text; an equal one costs nothing.
func learnPair(first, last *string, text []byte) {
	if len(text) == 0 || *last == string(text) {
		return
	}
	*last = string(text)
	*first = cmp.Or(*first, *last)
}

// metadata describes the session by what was learned. slug is the name of the project directory.
func (s *state) metadata(key sessionKey, side sidecars, slug string, modTimeMS int64) sdkplugin.SessionMetadata {
	meta := sdkplugin.SessionMetadata{
		Title:      s.Titles.pick(side.customTitle, side.description, !key.main()),
		Model:      s.Models.Newest,
		Models:     s.Models.All,
		AgentName:  side.agentType,
		CWD:        cmp.Or(s.Relocated, s.CWD, s.Worktree),
		Branch:     s.Branch,
		LastBranch: s.LastBranch,
		Version:    s.Version, LastVersion: s.LastVersion,
		Entrypoint: s.Entrypoint, LastEntrypoint: s.LastEntrypoint,
	}
	if meta.CWD == "" {
		meta.WorkspaceLabel = slug
	}
	meta.StartedAt, meta.EndedAt = s.Times.Span()
	if meta.ApproximateTimes = !s.Times.Known; !s.Times.Known {
		meta.StartedAt, meta.EndedAt = sdkplugin.AtMillis(modTimeMS), sdkplugin.AtMillis(modTimeMS)
	}
	return meta
}

// fingerprint stands for a text in sets of any size.
type fingerprint = digest.Print

type fingerprints map[fingerprint]bool

func fingerprintOf(text []byte) fingerprint { return digest.Of(text) }

// pairOf is the fingerprint of a message id and the index of an event.
func pairOf(id []byte, idx int) fingerprint {
	var room [64]byte
	return fingerprintOf(binary.BigEndian.AppendUint64(append(room[:0], id...), uint64(idx)))
}

var uuidKey = []byte(`"uuid"`)

// collect adds every text that stands under a key `uuid` of a line, whatever the line is. Inside of strings the quotes would be
// escaped.
func (s fingerprints) collect(line []byte) {
	for {
		at := bytes.Index(line, uuidKey)
		if at < 0 {
			return
		}
		line = line[at+len(uuidKey):]
		literal := bytes.TrimLeft(line, " \t\r:")
		if len(literal) == 0 || literal[0] != '"' {
			continue
		}
		end := 1
		for end < len(literal) && literal[end] != '"' {
			if literal[end] == '\\' {
				end++
			}
			end++
		}
		if end < len(literal) {
			if text, err := canonical.Unquote(nil, literal[:end+1]); err == nil {
				s[fingerprintOf(text)] = true
			}
		}
	}
}

// plainKey tells whether collect finds v, the uuid of a record: its key may be written with escapes.
func plainKey(record, v canonical.Value) bool {
	start, _ := record.Span()
	at, _ := v.Span()
	return bytes.HasSuffix(bytes.TrimRight(record.Raw()[:at-start], " \t\r:"), uuidKey)
}
