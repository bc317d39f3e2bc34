package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/refresh"
)

// Finding is something that a person should act on: what is wrong, and the command that helps, "" where it takes a hand.
type Finding struct{ Text, Command string }

func (f Finding) String() string {
	if f.Command == "" {
		return f.Text
	}
	return f.Text + "; run " + f.Command
}

// Findings tell what is wrong. A sound installation has none.
func (r *Report) Findings() []Finding {
	const again = "ctx import --all"
	var found []Finding
	add := func(command, format string, args ...any) {
		found = append(found, Finding{fmt.Sprintf(format, args...), command})
	}
	switch r.Lexical.Reason {
	case "generation_not_published":
		add("ctx setup --wait", "Nothing is indexed yet")
	case "publication_authority_invalid":
		add(again, "The index cannot be trusted, because its publication record is damaged, and has to be built again")
	case "generation_policy_mismatch":
		add(again, "The index was written by another version of ctx and has to be built again")
	case "generation_verification_failed":
		add(again, "The newest index is damaged (ctx doctor --deep tells where) and has to be built again")
	}
	switch {
	case r.Refresh.Reason == "core_refresh_failed":
		add(again, "The last refresh failed%s; what was indexed before still answers. Mend the sources first", r.failures)
	case r.Refresh.Reason == "refresh_state_unrecognized" || r.Refresh.Reason == "refresh_state_missing":
		add(again, "The record of the last refresh cannot be read")
	case r.Refresh.SourceFailureTotal != nil && *r.Refresh.SourceFailureTotal > 0:
		add(again, "Sources that could not be read in the last refresh: %d%s. Mend or remove them first", *r.Refresh.SourceFailureTotal, r.failures)
	}
	if r.Semantic.Enabled && r.Semantic.Status == "unavailable" {
		add("", "Semantic search is switched on but not part of this version; searches are lexical. Set semantic = false under [search]")
	}
	if r.LocalUsage != nil && r.LocalUsage.Error != nil {
		add("ctx status --usage reset", "Local usage cannot be counted (%s)", r.LocalUsage.Error.Code)
	}
	if r.Daemon.Status == "stale_lock" || r.Daemon.Status == stateFailed {
		add("ctx setup", "The background process is not healthy (%s)", r.Daemon.Status)
	}
	if r.untrusted != nil {
		add("", "No plugin of yours is used: %s. %s", r.untrusted.Message, r.untrusted.Hint)
	}
	if len(r.invalidEnvironment) > 0 {
		add("", "Environment variables with a value that means nothing: %s; correct or unset them", strings.Join(r.invalidEnvironment, ", "))
	}
	if len(r.unknownKeys) > 0 {
		add("", "The config file has keys that ctx does not know, on line %s; check their spelling", strings.Trim(fmt.Sprint(r.unknownKeys), "[]"))
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
