package cli

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agenthistory/ctx/host/retention"
	"github.com/agenthistory/ctx/host/sources"
)

// days is an age as <n>d; 0 = not given.
func days(value *uint64) pflag.Value {
	return checked{"<n>d", func() string { return "" }, func(s string) error {
		n, err := strconv.ParseUint(strings.TrimSuffix(s, "d"), 10, 31)
		if err != nil || n == 0 || !strings.HasSuffix(s, "d") {
			return fmt.Errorf("%s is not a number of days such as 90d", quoteWord(s))
		}
		*value = n
		return nil
	}}
}

func (a *App) pruneCommand() *cobra.Command {
	var p retention.Prune
	var named string
	var older uint64
	cmd := reporting(a, &cobra.Command{
		Use:   "prune",
		Short: "Drop records of histories that are gone from disk or no longer selected",
		Long: `Drop records of histories that are gone from disk (--gone), that no selected root holds any more (--retained), or of one session
of such a history (--session). What is on disk again later is imported again.`,
		Example: "  ctx sources prune --gone --older-than 90d --dry-run",
		Args:    noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			switch one := cmd.Flags().Changed("session"); {
			case !p.Gone && !p.Retained && !one:
				return usage(cmd, "one of --gone, --retained and --session is needed")
			case one && (p.Gone || p.Retained):
				return usage(cmd, "--session names all there is to drop; --gone and --retained do not go with it")
			}
			return nil
		},
	}, func(cmd *cobra.Command, s *session, _ []string) (*retention.Pruned, error) {
		if older > 0 {
			p.Before = max(1, time.Now().Add(-time.Duration(min(older, math.MaxInt64/uint64(24*time.Hour)))*24*time.Hour).UnixMilli())
		}
		return s.prune(cmd.Context(), p, named, cmd.Flags().Changed("session"))
	}, printPruned)
	flags := cmd.Flags()
	flags.BoolVar(&p.Gone, "gone", false, "histories that are no longer on disk")
	flags.BoolVar(&p.Retained, "retained", false, "histories that no selected root holds any more")
	flags.StringVar(&named, "session", "", "this one session, by `id`")
	flags.Var(days(&older), "older-than", "only sessions whose newest event is older")
	flags.BoolVar(&p.DryRun, "dry-run", false, "only count")
	return cmd
}

func (s *session) prune(ctx context.Context, p retention.Prune, session string, one bool) (_ *retention.Pruned, err error) {
	if one {
		if p.Session, err = s.storedSession(ctx, session); err != nil {
			return nil, err
		}
	}
	if p.Selected, err = s.selectedRoutes(ctx); err != nil {
		return nil, err
	}
	return s.archive().Prune(ctx, p)
}

// selectedRoutes tells which routes of the index are selected by the present configuration, which may be newer than the index: a place
// counts by what it is, not by what selected it, and a name counts for the place that it had until an import saw the new one. Explicit
// paths were chosen by the user and stay, and so does what belongs to a provider whose selection cannot be made out now.
func (s *session) selectedRoutes(ctx context.Context) (func(string) bool, error) {
	found, err := s.discover(ctx, "")
	if err != nil {
		return nil, err
	}
	g, err := s.store.Pin(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	type place struct{ provider, format, path string }
	type name struct{ provider, root string }
	uncertain, places, names, selected := map[string]bool{}, map[place]bool{}, map[name]bool{}, map[string]bool{}
	for _, issue := range found.Issues {
		uncertain[issue.Provider] = uncertain[issue.Provider] || issue.Code == sources.Unreconstructible
	}
	for _, route := range found.Routes {
		places[place{route.Provider, route.Format, route.Path}], selected[route.ID] = true, true
	}
	for _, root := range s.config.Roots {
		names[name{root.Provider, root.Name}] = true
	}
	for _, r := range g.Manifest().Routes {
		selected[r.Identity] = selected[r.Identity] || r.Authority == string(sources.Named) || uncertain[r.Provider] ||
			places[place{r.Provider, r.Format, r.Path}] || names[name{r.Provider, r.Root}]
	}
	return func(route string) bool { return selected[route] }, nil
}

func printPruned(p *page, done *retention.Pruned) {
	switch {
	case done.Sources == 0 && done.Sessions == 0:
		p.outcome(markDone, "Nothing to drop")
	case done.DryRun:
		p.outcome(markDone, "This would be dropped")
	default:
		p.outcome(markDone, "Dropped")
	}
	p.section("Dropped", field{"Sources", count(done.Sources)}, field{"Sessions", count(done.Sessions)}, field{"Events", count(done.Events)})
	p.section("Kept", field{"Gone", count(done.KeptGone)}, field{"Retained", count(done.KeptRetained)})
}
