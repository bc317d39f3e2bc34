package claude

import (
	"cmp"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/digest"
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

	Models                     []string
	Model                      string
	Version, LastVersion       string
	Entrypoint, LastEntrypoint string
	Started, Ended             int64
	Timed                      bool

	seen   fingerprints // uuids; after an append those behind the prefix
	oddKey bool         // a uuid is there that collect does not find
}

// maxModels bounds the list of different models.
const maxModels = 64

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
	if r.family == assistantRecord {
		s.learnModel(r.model.Str())
	}
	switch {
	case at.Known && s.Timed:
		s.Started, s.Ended = min(s.Started, at.Millis), max(s.Ended, at.Millis)
	case at.Known:
		s.Timed, s.Started, s.Ended = true, at.Millis, at.Millis
	}
}

func (s *state) learnModel(name []byte) {
	if len(name) == 0 || name[0] == '<' || len(name) > maxField || string(name) == s.Model {
		return
	}
	s.Model = string(name)
	if len(s.Models) < maxModels && !slices.Contains(s.Models, s.Model) {
		s.Models = append(s.Models, s.Model)
	}
}

func (s *state) learnState(r *record) {
	switch string(r.typ.Str()) {
	case "custom-title":
		s.Titles.addCustom(r.root.Get("customTitle").Str())
	case "ai-title":
		s.Titles.addAI(r.root.Get("aiTitle").Str())
	case "relocated":
		s.Relocated = cmp.Or(shortText(r.root.Get("relocatedCwd").Str()), s.Relocated)
	case "worktree-state":
		worktree := r.root.Get("worktreeSession")
		s.Titles.addWorktree(worktree.Get("worktreeName").Str())
		s.Worktree = cmp.Or(shortText(worktree.Get("worktreePath").Str()), s.Worktree)
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
		Model:      s.Model,
		Models:     s.Models,
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
	meta.StartedAt, meta.EndedAt = sdkplugin.AtMillis(s.Started), sdkplugin.AtMillis(s.Ended)
	if meta.ApproximateTimes = !s.Timed; !s.Timed {
		meta.StartedAt, meta.EndedAt = sdkplugin.AtMillis(modTimeMS), sdkplugin.AtMillis(modTimeMS)
	}
	return meta
}
