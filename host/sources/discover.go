package sources

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/internal/nullable"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// entry is a row in the making: a place with what selected it.
type entry struct {
	candidate
	place
	root       *config.Root // nil = automatic
	additional bool         // a named root beside the automatic winner
	conflicted bool         // nests with another root of the provider
	support    Support
}

// resolved is the result for one provider.
type resolved struct {
	entries []entry
	issues  []Issue
}

// Discover resolves every provider once. The result does not depend on scheduling.
func Discover(ctx context.Context, in Input) (*Discovery, error) {
	out := &Discovery{AutomaticDiscovery: in.Config.Automatic}
	jobs := providersOf(in)
	results := make([]resolved, len(jobs))
	oneCrash(ctx, len(jobs), func(i int) error {
		jobs[i].ask(ctx, in)
		results[i] = jobs[i].resolve(in.Config)
		return jobs[i].failed
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var missing, others []Issue
	for i, r := range results {
		if jobs[i].failed != nil {
			out.Unresolved = append(out.Unresolved, jobs[i].id)
		}
		for _, e := range r.entries {
			out.add(jobs[i].id, e)
		}
		for _, issue := range r.issues {
			issue.cut()
			if issue.Code == ConfiguredRootMissing {
				missing = append(missing, issue)
			} else {
				others = append(others, issue)
			}
		}
	}
	out.Issues = append(missing, others...)
	if in.Provider == "" || in.Provider == pluginProvider {
		out.Plugins = pluginRows(in.Config)
	}
	return out, nil
}

// job is one provider to resolve: delivered, named by a configured root, or known as an agent only.
type job struct {
	id          string
	described   *Described
	description *historyv1.DescribeResponse
	agent       *agent
	known       *config.Provider // nil for agents beyond the table of providers
	roots       []config.Root
	answer      *historyv1.ResolveResponse // of a provider that resolves
	failed      error                      // why there is none
}

// providersOf lists the providers of a pass: the known ones in table order, then delivered ones that the table does not know, then
// the other agents.
func providersOf(in Input) []job {
	byID := map[string]*job{}
	var order []string
	find := func(id string) *job {
		j, ok := byID[id]
		if !ok {
			j = &job{id: id}
			j.known, _ = in.Config.ProviderNamed(id)
			byID[id], order = j, append(order, id)
		}
		return j
	}
	for _, p := range config.Providers {
		find(p.ID)
	}
	for i := range in.Descriptions {
		d := &in.Descriptions[i]
		j := find(d.id(in.Config))
		j.described, j.description = d, d.Description
	}
	for i := range in.Config.Roots {
		j := find(in.Config.Roots[i].Provider)
		j.roots = append(j.roots, in.Config.Roots[i])
	}
	if in.Agents {
		for i := range agents() {
			a := &agents()[i]
			if j := find(a.ID); j.described == nil && (!a.Nowhere || in.Provider == a.ID) {
				j.agent = a
			}
		}
	}
	var jobs []job
	for _, id := range order {
		j := byID[id]
		if (in.Provider == "" || id == in.Provider) && (j.described != nil || j.agent != nil || len(j.roots) > 0) {
			jobs = append(jobs, *j)
		}
	}
	return jobs
}

func (j job) resolve(c *config.Config) resolved {
	var r resolved
	var winners selection
	switch {
	case j.failed != nil:
		winners.refuse(j.id, Unreconstructible, "the provider could not find its places; see the log")
	case j.description != nil:
		winners = locate(j.description, c.Environment)
		winners.admit(j.description, j.answer)
	case j.described != nil:
		winners.refuse(j.id, Unreconstructible, "the provider did not describe itself; its locations are not known")
	case j.agent != nil && c.Automatic:
		winners = j.agent.locate(c.Environment)
	}
	automatic := j.examineWinners(winners.candidates, c, &winners)
	configured, issues := j.expandRoots(c)
	r.issues = append(r.issues, issues...)
	// The winner is compared with the configured roots even when automatic discovery is off: a root that got a name keeps the
	// identity it had without one.
	automatic, configured = annotate(automatic, configured)
	r.issues = append(r.issues, j.conflicts(automatic, configured, c.Automatic)...)
	if c.Automatic || j.described != nil && j.description == nil {
		r.issues = append(r.issues, winners.issues...)
	}
	for _, e := range automatic {
		if c.Automatic || e.root != nil {
			r.entries = append(r.entries, e)
		}
	}
	r.entries = append(r.entries, configured...)
	for i := range r.entries {
		j.settle(&r.entries[i])
	}
	if j.agent != nil && j.agent.Extra {
		r.entries = slices.DeleteFunc(r.entries, func(e entry) bool { return e.place.status == Empty })
	}
	return r
}

// examineWinners turns the automatic candidates into entries: an unsafe one gives an issue instead, a place beside the default
// counts only while it is another existing place.
func (j job) examineWinners(candidates []candidate, c *config.Config, s *selection) []entry {
	var entries []entry
	for _, cand := range candidates {
		e := entry{candidate: cand, place: examine(cand.path, cand.kind, false, c)}
		if e.place.status == Unsupported {
			s.refuseAt(j.id, Unreconstructible, "an automatic location cannot be used: "+e.place.reason, cand.path)
			continue
		}
		if !slices.ContainsFunc(entries, e.sameRoute) {
			entries = append(entries, e)
		}
	}
	return entries
}

// sameRoute compares format and place; a place is the same when the physical path or the object on disk is.
func (e entry) sameRoute(o entry) bool {
	return e.format == o.format &&
		(e.place.path == o.place.path || e.exists && o.exists && config.SameObject(e.place.path, o.place.path))
}

// annotate moves a configured entry that is an automatic winner into the winner's position: one row, not indexed twice.
func annotate(automatic, configured []entry) (winners, additional []entry) {
	for _, e := range configured {
		i := slices.IndexFunc(automatic, func(a entry) bool { return a.root == nil && a.sameRoute(e) })
		if i < 0 {
			e.additional = true
			additional = append(additional, e)
			continue
		}
		// A named root may lie where an automatic one may not, so the configured look at the place counts.
		automatic[i].root, automatic[i].place, automatic[i].beside, automatic[i].candidate.path = e.root, e.place, false, e.candidate.path
	}
	return automatic, additional
}

// settle fixes status and support of an entry that was only examined so far.
func (j job) settle(e *entry) {
	e.support = j.support(e.format)
	if e.unsupported {
		e.support = NoImport
	}
	switch {
	case e.place.status == Missing:
	case e.conflicted:
		e.place.status, e.place.reason = Unsupported, "the root lies inside another root of the provider, or around one"
	case e.place.status != "":
	default:
		e.place.status, e.place.reason = probeStatus(e.place.path, e.probe)
		if e.support == NoImport && e.place.status != Empty {
			e.place.status, e.place.reason = Unsupported, j.unsupported()
			e.place.sealed = e.seal.isSealed(e.place.path)
		}
	}
}

func (j job) unsupported() string {
	if j.described == nil {
		return NoProvider
	}
	return "histories of this format cannot be imported"
}

func (j job) support(format string) Support {
	for _, f := range j.description.GetFormats() {
		switch {
		case f.GetName() != format:
		case f.GetImportSupport() == historyv1.ImportSupport_IMPORT_SUPPORT_NATIVE:
			return Native
		case f.GetImportSupport() == historyv1.ImportSupport_IMPORT_SUPPORT_EXPLICIT:
			return Explicit
		}
	}
	return NoImport
}

// add appends the row of an entry, and its route when a refresh may read it.
func (d *Discovery) add(provider string, e entry) {
	row := Row{
		Provider: provider, Path: e.place.path, Exists: e.exists, SourceFormat: e.format, Status: e.place.status,
		ImportSupport: e.support, NativeImport: e.support == Native,
		Importable: e.place.status == Available && e.support != NoImport,
		Selection:  Selection{Kind: string(Automatic)},
	}
	if e.place.reason != "" && e.place.status != Missing && e.place.status != Available {
		row.UnsupportedReason = nullable.Text(e.place.reason)
	}
	route := Route{
		Provider: provider, Format: e.format, Role: e.role, Path: e.place.path, Authority: Automatic,
		Root: e.root, Additional: e.additional, Status: e.place.status,
	}
	if e.place.sealed {
		row.StatusReason, row.UnsupportedReason = "blocked_auth_or_encryption", "the history is encrypted"
	}
	if e.root != nil {
		row.Selection = Selection{string(Configured), nullable.Text(e.root.Name), nullable.Text(e.root.Group)}
		route.Authority = Configured
	}
	route.ID = routeID(route, e.candidate.path)
	if !e.beside || e.place.status != Missing {
		d.Rows = append(d.Rows, row)
	}
	if e.support == Native {
		d.Routes = append(d.Routes, route)
	}
}

// routeID frames provider, format, role, authority and locator, each with its length. The locator is the path as it was declared or
// configured: a link that leads nowhere for a while does not make another route.
func routeID(r Route, locator string) string {
	authority := string(r.Authority)
	if r.Root != nil {
		authority += ":" + r.Root.Name
	}
	h := sha256.New()
	for _, part := range []string{"ctx.route", r.Provider, r.Format, r.Role, authority, filepath.ToSlash(locator)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// cut shortens an overlong message on a character boundary.
func (i *Issue) cut() {
	if len(i.Message) > MaxIssueMessage {
		i.Message, i.MessageTruncated = strings.ToValidUTF8(i.Message[:MaxIssueMessage], ""), true
	}
}
