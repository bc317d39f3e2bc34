package claude

import (
	"github.com/agenthistory/ctx/sdkplugin"
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
// one in the frontier, so that both end in the same state.
type state struct {
	lineage  lineage
	ancestor string // session that the file was forked or resumed from

	seen        hashSet             // uuids, used pairs of message id and index, addresses of pull requests
	pairs       uint64              // pairs in seen
	occurrences map[[16]byte]uint64 // content digests, cut to 16 bytes, and how often they came
	titles      titles
	cwd         string // first directory
	relocated   string // latest directory that replaces it
	worktree    string // directory of a worktree
	branch      string // first branch that is not a detached head
	lastBranch  string

	models                     []string
	model                      string
	version, lastVersion       string
	entrypoint, lastEntrypoint string
	started, ended             int64
	timed                      bool
}

// maxModels bounds the list of different models.
const maxModels = 64

func (s *state) reset() {
	seen, occurrences := s.seen, s.occurrences
	seen.reset()
	clear(occurrences)
	if occurrences == nil {
		occurrences = map[[16]byte]uint64{}
	}
	*s = state{seen: seen, occurrences: occurrences}
}

// occurrence returns how many earlier events of the file had the same content digest.
func (s *state) occurrence(digest [32]byte) uint64 {
	key := [16]byte(digest[:16])
	n := s.occurrences[key]
	s.occurrences[key] = n + 1
	return n
}

// trace learns from a chain record where its file comes from; only the first one tells.
func (s *state) trace(r *record, key sessionKey) {
	if s.lineage != lineageUnknown {
		return
	}
	s.lineage = lineageRoot
	if !key.main() {
		return
	}
	if from := forkedFrom(r); from != "" && from != key.root {
		s.lineage, s.ancestor = lineageForked, from
	} else if id := r.sessionID.Str(); len(id) > 0 && string(id) != key.root {
		s.lineage, s.ancestor = lineageResumed, string(id)
	}
}

// forkedFrom returns the session that a copied record names as its origin.
func forkedFrom(r *record) string {
	if r.forkedFrom.IsObject() {
		return shortText(r.forkedFrom.Get("sessionId").Str())
	}
	return shortText(r.forkedFrom.Str())
}

// shortText returns a text if it is short enough for a native key.
func shortText(text []byte) string {
	if len(text) > maxField {
		return ""
	}
	return string(text)
}

// learn takes the metadata of an accepted record of a time.
func (s *state) learn(r *record, at sdkplugin.Instant) {
	switch r.family {
	case stateRecord:
		s.learnState(r)
		return
	case summaryRecord:
		s.titles.addSummary(r.leafUUID.Str(), r.summary.Str())
		return
	}
	if !r.family.chain() {
		return
	}
	if s.cwd == "" {
		s.cwd = string(r.cwd.Str())
	}
	if b := r.branch.Str(); len(b) > 0 && string(b) != "HEAD" {
		if s.branch == "" {
			s.branch = string(b)
		}
		update(&s.lastBranch, b)
	}
	learnPair(&s.version, &s.lastVersion, r.version.Str())
	if len(r.entrypoint.Str()) <= maxField {
		learnPair(&s.entrypoint, &s.lastEntrypoint, r.entrypoint.Str())
	}
	if r.family == assistantRecord {
		s.learnModel(r.model.Str())
	}
	if at.Known {
		if !s.timed || at.Millis < s.started {
			s.started = at.Millis
		}
		if !s.timed || at.Millis > s.ended {
			s.ended = at.Millis
		}
		s.timed = true
	}
}

func (s *state) learnModel(name []byte) {
	if len(name) == 0 || name[0] == '<' || len(name) > maxField {
		return
	}
	if !update(&s.model, name) {
		return
	}
	if len(s.models) < maxModels && !contains(s.models, s.model) {
		s.models = append(s.models, s.model)
	}
}

func (s *state) learnState(r *record) {
	switch string(r.typ.Str()) {
	case "custom-title":
		s.titles.addCustom(r.customTitle.Str())
	case "ai-title":
		s.titles.addAI(r.aiTitle.Str())
	case "relocated":
		if dir := r.relocatedCWD.Str(); len(dir) > 0 && len(dir) <= maxField {
			s.relocated = string(dir)
		}
	case "worktree-state":
		s.titles.addWorktree(r.worktree.Get("worktreeName").Str())
		if dir := r.worktree.Get("worktreePath").Str(); len(dir) > 0 && len(dir) <= maxField {
			s.worktree = string(dir)
		}
	}
}

func learnPair(first, last *string, text []byte) {
	if len(text) == 0 {
		return
	}
	if *first == "" {
		*first = string(text)
	}
	update(last, text)
}

// update sets a string and tells whether it changed; equal text costs nothing.
func update(s *string, text []byte) bool {
	if *s == string(text) {
		return false
	}
	*s = string(text)
	return true
}

// metadata describes the session by what was learned. slug is the name of the project directory.
func (s *state) metadata(key sessionKey, side sidecars, slug string, modTimeMS int64) sdkplugin.SessionMetadata {
	meta := sdkplugin.SessionMetadata{
		Title:      s.titles.pick(side.customTitle, side.description, !key.main(), &s.seen),
		Model:      s.model,
		Models:     s.models,
		AgentName:  side.agentType,
		CWD:        s.cwd,
		Branch:     s.branch,
		LastBranch: s.lastBranch,
		Version:    s.version, LastVersion: s.lastVersion,
		Entrypoint: s.entrypoint, LastEntrypoint: s.lastEntrypoint,
	}
	if s.relocated != "" {
		meta.CWD = s.relocated
	}
	if meta.CWD == "" {
		meta.CWD = s.worktree
	}
	if meta.CWD == "" {
		meta.WorkspaceLabel = slug
	}
	meta.StartedAt, meta.EndedAt = sdkplugin.AtMillis(s.started), sdkplugin.AtMillis(s.ended)
	if !s.timed {
		meta.StartedAt, meta.EndedAt = sdkplugin.AtMillis(modTimeMS), sdkplugin.AtMillis(modTimeMS)
		meta.ApproximateTimes = true
	}
	return meta
}
