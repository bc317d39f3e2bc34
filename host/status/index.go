package status

import (
	"context"
	"path/filepath"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/selection"
	"github.com/agenthistory/ctx/host/lexical"
)

// Versions that a report names. They describe the generation format of this program.
const (
	manifestVersion = 1
	identityVersion = 1
	lexicalVersion  = 1
)

// index is what was seen of the active generation.
type index struct {
	open    bool
	id      string
	path    string
	stats   core.Statistics
	sources Sources
	failure error  // why nothing could be opened, or only an older generation
	foreign string // contract of a generation that another version wrote
}

// observeIndex opens the active generation and counts its sources. What it finds wrong is a result; only a cancelled call fails.
func observeIndex(ctx context.Context, store *core.Store) (*index, error) {
	x := &index{path: filepath.Join(store.Dir(), "generations")}
	gen, err := store.Pin(ctx)
	if code(err) == fault.GenerationChanged {
		gen, err = store.Pin(ctx) // a publication came in between
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		x.failure = err
		x.foreign, _ = fault.From(err).Fields["index_contract"].(string)
		return x, nil
	}
	defer gen.Close()
	x.open, x.id, x.stats, x.failure = true, gen.ID(), gen.Manifest().Stats, gen.Fallback()
	x.path = filepath.Join(x.path, gen.Published().Directory)
	all := selection.CountSources(gen, "")
	x.sources = Sources{Selected: uint64(all.All - all.Retained), Retained: uint64(all.Retained), Gone: x.stats.GoneSources}
	return x, nil
}

func (x *index) lexical(store *core.Store) Lexical {
	l := Lexical{
		Status: "unavailable", Path: store.Dir(), GenerationID: x.id,
		ManifestVersion: manifestVersion, IdentityVersion: identityVersion, SchemaVersion: lexicalVersion, AnalyzerVersion: lexical.TokenizerRevision,
		Policy: Policy{CurrentHash: core.Contract(), Current: "ctx.index-contract.v1"},
	}
	if x.open {
		matches := true
		l.Status = "ready"
		l.IndexedDocuments, l.CertifiedSources, l.CertifiedSourceBytes = &x.stats.Events, &x.stats.Sources, &x.stats.CertifiedBytes
		l.Policy.PublishedHash, l.Policy.MatchesCurrent = core.Contract(), &matches
		if x.failure != nil {
			l.Status, l.Reason, l.LastError = "stale", "generation_verification_failed", x.failure.Error()
		}
		return l
	}
	l.GenerationID = ""
	f := fault.From(x.failure)
	switch f.Code {
	case fault.SourceUnavailable:
		l.Reason = "generation_not_published"
	case fault.PublicationAuthorityInvalid:
		l.Reason, l.PublicationAuthorityError = "publication_authority_invalid", f.Message
	case fault.IndexIncompatible:
		matches := false
		l.Reason = "generation_policy_mismatch"
		l.Policy.PublishedHash, l.Policy.MatchesCurrent = x.foreign, &matches
	default:
		l.Reason, l.LastError = "generation_verification_failed", f.Message
	}
	return l
}
