// Package status observes what is stored, how current it is and what serves it. It never creates or changes a file, not even below a
// data root that does not exist.
//
// Vocabulary: initialized means that a verified generation can be read; the epoch is the rule that only such a generation answers;
// retained sources have no selected root any more, gone ones are no longer on disk; a receipt is what the last refresh left behind;
// a finding is something that a person should act on.
package status

import (
	"context"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/usage"
)

// Inputs are the places that a report looks at.
type Inputs struct {
	DataRoot string // absolute
	Config   config.Config
	Store    *core.Store
	// Daemon is what the caller observed of the background process.
	Daemon Daemon
	// Executable is the path of this program, "" when unknown.
	Executable string
}

// Observe builds the report. A missing data root, a missing or damaged index and a failed refresh are reports, not errors.
func Observe(ctx context.Context, in Inputs) (*Report, error) {
	index, err := observeIndex(ctx, in.Store)
	if err != nil {
		return nil, err
	}
	receipt, receiptErr := refresh.LastReceipt(&in.Config)
	counters := usage.Observe(ctx, &in.Config)
	r := &Report{
		SchemaVersion: 3, Initialized: index.open, DataRoot: in.DataRoot, ConfigPath: in.Config.Path,
		Indexing: &Indexing{Mode: string(in.Config.Indexing.Mode)},
		Lexical:  index.lexical(in.Store), Refresh: observeRefresh(index, receipt, receiptErr),
		Semantic: observeSemantic(in), Sources: index.sources, Upgrade: unmanaged(in.Executable), LocalUsage: &counters,
		Attribution: Attribution{SchemaVersion: 3, Status: "disabled", Path: in.Store.Dir()},
		Daemon:      in.Daemon, LocalOnly: true, ReadOnly: true,
		invalidEnvironment: in.Config.InvalidEnvironment, unknownKeys: in.Config.UnknownKeys, failures: nameFailures(receipt),
	}
	if in.Config.InstalledErr != nil {
		r.untrusted = fault.From(in.Config.InstalledErr)
	}
	if receipt != nil && receipt.State == stateFailed && index.open {
		r.Lexical.Status, r.Lexical.Reason = "stale", "core_refresh_failed"
	}
	r.HistoryEpoch = HistoryEpoch{
		Name: "self_contained_core", Status: r.Lexical.Status, Reason: r.Lexical.Reason,
		ActivationAuthority: "verified_lexical_generation", LexicalGenerationID: index.id, GenerationPath: index.path,
	}
	if index.open {
		s := index.stats
		r.IndexedItems, r.IndexedSessions, r.IndexedEvents, r.IndexedSources = &s.Events, &s.Sessions, &s.Events, &s.Sources
	}
	return r, nil
}

// Setup returns the members that setup repeats: the report without read_only, indexing, upgrade and local_usage.
func (r *Report) Setup() Report {
	s := *r
	s.ReadOnly, s.Indexing, s.Upgrade, s.LocalUsage = false, nil, nil, nil
	return s
}

// observeSemantic: no vectors are made yet, so semantic search is either off or not available.
func observeSemantic(in Inputs) Semantic {
	s := Semantic{Status: "disabled", Enabled: in.Config.Semantic.On, ConfigSource: string(in.Config.Semantic.Origin)}
	if s.Enabled {
		s.Status, s.Reason = "unavailable", "semantic_unsupported"
	}
	s.FlatF32 = FlatF32{Status: s.Status, Reason: s.Reason, Path: in.Store.Dir()}
	return s
}

// unmanaged: ctx never upgrades itself.
func unmanaged(executable string) *Upgrade {
	return &Upgrade{Auto: "off", Install: Install{Marker: "absent", InstallPath: executable}}
}

// code is the fault code of an error, "" for none.
func code(err error) string { return fault.Code(err) }
