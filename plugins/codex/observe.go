package codex

import (
	"context"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
)

// Observe looks at one file again that has grown. What other files add to the observation of a rollout is as it was; other rollouts
// depend on its beginning alone, so one that is shorter is left to a list of all.
func (p *provider) Observe(_ context.Context, route sdkplugin.Route, known sdkplugin.Source) (sdkplugin.Source, error) {
	now := known
	switch {
	case len(known.Anchor) == 0 && !rollout(known.Locator):
		return sdkplugin.Source{}, nil
	case known.Locator == "" || known.Format == promptFormat || packed(known.Locator) || known.Size < parentBytes || suffixOf(known.Observation) == nil:
		return now, listing.ErrUnclear
	default:
		parts, err := known.Anchor.Native(sessionNamespace, 1)
		if err != nil {
			return now, err
		}
		now.ProviderSessionID = parts[0]
	}
	seen, err := jsonl.Observe(route.Path, known.Locator, p.work)
	if err != nil {
		return now, err
	}
	if seen.Size < known.Size || seen.FileID != known.FileID {
		return now, listing.ErrUnclear
	}
	now.Observation = append(seen.Token(), suffixOf(known.Observation)...)
	now.Size, now.ModTimeNS = seen.Size, seen.MtimeNS
	return now, nil
}
