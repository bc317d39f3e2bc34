package status

import (
	"fmt"
	"strings"
)

// Findings are the things that a person should act on, each one sentence with an action. A sound installation has none.
func (r *Report) Findings() []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	switch r.Lexical.Reason {
	case "generation_not_published":
		add("Nothing is indexed yet; run ctx setup or ctx import --all.")
	case "publication_authority_invalid":
		add("The index cannot be trusted, because its publication record is damaged; run ctx doctor --deep, then ctx import --all.")
	case "generation_policy_mismatch":
		add("The index was written by another version of ctx; run ctx import --all to build it again.")
	case "generation_verification_failed":
		add("The index could not be opened; run ctx doctor --deep.")
	}
	switch {
	case r.Refresh.Reason == "core_refresh_failed":
		add("The last refresh failed, so searches answer from an older state; run ctx import --all.")
	case r.Refresh.Reason == "refresh_state_unrecognized" || r.Refresh.Reason == "refresh_state_missing":
		add("The record of the last refresh cannot be read; run ctx import --all.")
	case r.Refresh.SourceFailureTotal != nil && *r.Refresh.SourceFailureTotal > 0:
		add("Sources that could not be read in the last refresh: %d; run ctx sources, then ctx import --all.", *r.Refresh.SourceFailureTotal)
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
	if len(r.invalidEnvironment) > 0 {
		add("Environment variables with a value that means nothing: %s; correct or unset them.", strings.Join(r.invalidEnvironment, ", "))
	}
	if r.unknownKeys > 0 {
		add("The config file has keys that ctx does not know: %d; check their spelling.", r.unknownKeys)
	}
	return found
}
