package codex

import (
	"cmp"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// Longest optional texts of a session_meta line, in bytes.
const (
	maxMember = 1024
	maxCWD    = 4096
)

// meta is what one session_meta line, or the bare header of the oldest files, says about its thread.
type meta struct {
	ID           string
	Line         uint64
	Start        time.Time // zero = unknown
	CWD          string
	Commit       string
	Branch       string
	URL          string
	Originator   string
	Version      string
	Agent        string
	Parent       string
	Root         string // of the thread tree, when it is another thread
	Relationship sdkplugin.Relationship
	Scope        sdkplugin.Scope
	Bare         bool
	Named        bool // nothing is known but the thread id, which is the file's name
}

// namedMeta is the owner of a file that does not tell its owner itself.
func namedMeta(thread string) meta {
	return meta{ID: thread, Named: true, Relationship: sdkplugin.RelationshipRoot, Scope: sdkplugin.ScopePrimary}
}

// bareHeader reads the header of the oldest files: id, time and instructions without a type.
func bareHeader(v canonical.Value) (m meta, ok bool) {
	if v.Has("type") || v.Has("record_type") || v.Has("payload") || !v.Has("instructions") {
		return m, false
	}
	id := v.Get("id").Str()
	start, timed := texts.ParseTime(v.Get("timestamp").Str())
	if texts.Blank(id) || len(id) > maxThread || !timed {
		return m, false
	}
	m = namedMeta(string(id))
	m.Named, m.Bare, m.Start = false, true, start
	m.readGit(v.Get("git"))
	m.CWD = bounded(v.Get("cwd"), maxCWD)
	return m, true
}

// readMeta reads the payload of a session_meta line. at is the time of its envelope. ok is false for a malformed one.
func readMeta(payload canonical.Value, at time.Time) (m meta, ok bool) {
	id := payload.Get("id").Str()
	if !payload.IsObject() || texts.Blank(id) || len(id) > maxThread {
		return m, false
	}
	m.ID, m.Start = string(id), at
	if start, timed := texts.ParseTime(payload.Get("timestamp").Str()); timed {
		m.Start = start
	}
	if m.Start.IsZero() {
		return m, false
	}
	m.CWD = bounded(payload.Get("cwd"), maxCWD)
	m.Originator = bounded(payload.Get("originator"), maxMember)
	m.Version = bounded(payload.Get("cli_version"), maxMember)
	m.readGit(payload.Get("git"))
	m.readGit(payload)
	source := payload.Get("source")
	spawn := source.Get("subagent").Get("thread_spawn")
	if !spawn.IsObject() {
		spawn = source.Get("thread_spawn")
	}
	name := func(key string) string {
		return cmp.Or(bounded(payload.Get(key), maxMember), bounded(spawn.Get(key), maxMember))
	}
	m.Agent = cmp.Or(name("agent_role"), name("agent_type"), name("agent_nickname"))
	if !m.relate(payload, source) {
		return m, false
	}
	subagent := source.Has("subagent") || source.Has("thread_spawn")
	switch {
	case m.Relationship == sdkplugin.RelationshipUnknown:
	case subagent || m.Relationship == sdkplugin.RelationshipDelegated:
		m.Scope = sdkplugin.ScopeSubagent
	default:
		m.Scope = sdkplugin.ScopePrimary
	}
	root := bounded(payload.Get("session_id"), maxThread)
	if root != m.ID && m.Relationship > sdkplugin.RelationshipRoot {
		m.Root = root
	}
	return m, true
}

func (m *meta) readGit(git canonical.Value) {
	m.Commit = cmp.Or(m.Commit, bounded(git.Get("commit_hash"), maxMember))
	m.Branch = cmp.Or(m.Branch, bounded(git.Get("branch"), maxMember))
	m.URL = cmp.Or(m.URL, bounded(git.Get("repository_url"), maxMember))
}

// relate finds the parent and how the thread came from it. ok is false when an id is too long.
func (m *meta) relate(payload, source canonical.Value) (ok bool) {
	var ids [6]string
	for i, v := range [...]canonical.Value{
		source.Get("subagent").Get("thread_spawn").Get("parent_thread_id"), source.Get("thread_spawn").Get("parent_thread_id"),
		source.Get("parent_thread_id"), payload.Get("parent_thread_id"), payload.Get("forked_from_id"),
		payload.Get("history_base").Get("thread_id"),
	} {
		if id := v.Str(); !texts.Blank(id) {
			if len(id) > maxThread {
				return false
			}
			ids[i] = string(id)
		}
	}
	spawned, declared, forked, base := cmp.Or(ids[0], ids[1], ids[2]), ids[3], ids[4], ids[5]
	delegator := cmp.Or(spawned, declared)
	other := func(a, b string) bool { return a != "" && b != "" && a != b }
	switch {
	case other(spawned, declared):
		m.Parent = spawned
	case delegator != "":
		m.Parent = delegator
		if !other(forked, delegator) && !other(base, delegator) {
			m.Relationship = sdkplugin.RelationshipDelegated
		}
	case other(forked, base):
		m.Parent = forked
	case forked != "":
		m.Parent, m.Relationship = forked, sdkplugin.RelationshipForked
	case base != "":
		m.Parent, m.Relationship = base, sdkplugin.RelationshipResumedFrom
	default:
		m.Relationship = sdkplugin.RelationshipRoot
	}
	if m.Parent == m.ID {
		m.Parent, m.Relationship = "", sdkplugin.RelationshipUnknown
	}
	return true
}

// same tells whether two lines of one thread agree in what makes a lineage.
func (m *meta) same(o *meta) bool {
	return m.Parent == o.Parent && m.Root == o.Root && m.Relationship == o.Relationship
}

// bounded returns a string that is neither blank nor longer than limit, else nothing.
func bounded(v canonical.Value, limit int) string {
	text := v.Str()
	if texts.Blank(text) || len(text) > limit {
		return ""
	}
	return string(text)
}
