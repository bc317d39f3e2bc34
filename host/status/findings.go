package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/refresh"
)

// Findings are the things that a person should act on, each one sentence with an action. A sound installation has none.
func (r *Report) Findings() []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	switch r.Lexical.Reason {
	case "generation_not_published":
		add("Nothing is indexed yet; run ctx setup or ctx import --all.")
	case "publication_authority_invalid":
		add("The index cannot be trusted, because its publication record is damaged; run ctx import --all to build it again.")
	case "generation_policy_mismatch":
		add("The index was written by another version of ctx; run ctx import --all to build it again.")
	case "generation_verification_failed":
		add("The newest index is damaged; ctx doctor --deep tells where, ctx import --all builds it again.")
	}
	switch {
	case r.Refresh.Reason == "core_refresh_failed":
		add("The last refresh failed%s; what was indexed before still answers. Mend the sources, then run ctx import --all.", r.failures)
	case r.Refresh.Reason == "refresh_state_unrecognized" || r.Refresh.Reason == "refresh_state_missing":
		add("The record of the last refresh cannot be read; run ctx import --all.")
	case r.Refresh.SourceFailureTotal != nil && *r.Refresh.SourceFailureTotal > 0:
		add("Sources that could not be read in the last refresh: %d%s; mend or remove them, then run ctx import --all.",
			*r.Refresh.SourceFailureTotal, r.failures)
	}
	if r.Semantic.Enabled && r.Semantic.Status == "unavailable" {
		add("Semantic search is switched on but not part of this version; searches are lexical. Set semantic = false under [search].")
	}
	if r.LocalUsage != nil && r.LocalUsage.Error != nil {
		add("Local usage cannot be counted (%s); run ctx status --usage reset.", r.LocalUsage.Error.Code)
	}
	if r.Daemon.Status == "stale_lock" || r.Daemon.Status == stateFailed {
		add("The background process is not healthy (%s); run ctx setup.", r.Daemon.Status)
	}
	if r.untrusted != nil {
		add("No plugin of yours is used: %s. %s.", r.untrusted.Message, r.untrusted.Hint)
	}
	if len(r.invalidEnvironment) > 0 {
		add("Environment variables with a value that means nothing: %s; correct or unset them.", strings.Join(r.invalidEnvironment, ", "))
	}
	if r.unknownKeys > 0 {
		add("The config file has keys that ctx does not know: %d; check their spelling.", r.unknownKeys)
	}
	return found
}

// failuresShown is how many failed sources a finding names.
const failuresShown = 3

// nameFailures lists the first failed sources with what is wrong with them, behind a colon.
func nameFailures(receipt *refresh.Receipt) string {
	var named []string
	if receipt == nil {
		return ""
	}
	for _, id := range slices.Sorted(maps.Keys(receipt.Providers)) {
		for _, f := range receipt.Providers[id].Failures {
			if f.Path != "" && len(named) < failuresShown {
				named = append(named, f.Path+" ("+f.Detail+")")
			}
		}
	}
	if len(named) == 0 {
		return ""
	}
	return ": " + strings.Join(named, ", ")
}
