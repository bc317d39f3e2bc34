package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/refresh"
)

// reasonsShown is how many reasons text names.
const reasonsShown = 3

// skipped returns records that the index does not hold because they could not be understood: the few that are kept of each source.
func (s *session) skipped(ctx context.Context) ([]*refresh.RejectionRow, error) {
	g, err := s.store.Pin(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	routes := map[string]string{}
	for _, route := range g.Manifest().Routes {
		routes[route.Identity] = route.Path
	}
	var records []*refresh.RejectionRow
	err = g.Certificates(func(c *core.Certificate) error {
		for _, r := range c.Rejections {
			path := filepath.Join(routes[c.Route], filepath.FromSlash(r.Locator))
			records = append(records, &refresh.RejectionRow{RejectedRecord: refresh.RejectedRecord{Provider: c.Provider, Path: path, Rejection: r}})
		}
		return nil
	})
	return records, err
}

// printSkipped tells why records were skipped, the most frequent reasons first, each with one place to look at.
func printSkipped(p *page, short func(path string) string, records []*refresh.RejectionRow) {
	type reason struct{ provider, detail string }
	times, first := map[reason]int{}, map[reason]*refresh.RejectionRow{}
	var reasons []reason
	for i := range records {
		r := reason{records[i].Provider, records[i].Detail}
		if times[r]++; times[r] == 1 {
			first[r] = records[i]
			reasons = append(reasons, r)
		}
	}
	slices.SortStableFunc(reasons, func(a, b reason) int { return times[b] - times[a] })
	var fields []field
	for i, r := range reasons {
		if i == reasonsShown {
			fields = append(fields, field{"Additional", plural(len(reasons)-i, "other reason")})
			break
		}
		fields = append(fields, field{r.provider, fmt.Sprintf("%s, as in line %d of %s", oneLine(r.detail), first[r].Line, short(first[r].Path))})
	}
	p.section("Skipped, because", fields...)
}
