package claude

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// maxWalkFiles bounds transcripts and sidecars of one route together.
const maxWalkFiles = 2 * jsonl.MaxFiles

// candidate is a transcript that may become a source.
type candidate struct {
	route    int
	locator  string
	placed   placed
	observed observed
	dropped  bool // another file of the session is taken
}

// Inventory lists the sessions of all routes.
func (p *provider) Inventory(ctx context.Context, req sdkplugin.InventoryRequest, out *sdkplugin.InventoryWriter) error {
	inv, err := p.list(ctx, req.Routes)
	if err != nil {
		return err
	}
	return inv.Give(out, len(inv.found), func(i int) sdkplugin.Source { return inv.found[i].source() })
}

// list looks at every route.
func (p *provider) list(ctx context.Context, routes []sdkplugin.Route) (*inventory, error) {
	inv := &inventory{Listing: listing.Listing{Ctx: ctx, Work: p.work}}
	err := inv.Routes(routes, func(i int, directory bool) (sdkplugin.RouteState, error) {
		return inv.route(i, routes[i], directory)
	})
	inv.oneEach(routes)
	return inv, err
}

func (c *candidate) source() sdkplugin.Source {
	o := c.observed.transcript
	return sdkplugin.Source{
		Route: c.route, Anchor: c.placed.key.anchor(), Format: formatName, Locator: c.locator, Observation: c.observed.token(),
		Size: o.Size, ModTimeNS: o.MtimeNS, FileID: o.FileID, ProviderSessionID: c.placed.key.display(),
	}
}

// inventory is one listing under way.
type inventory struct {
	listing.Listing
	found []candidate // by route, then by locator

	reader jsonl.Reader
	doc    canonical.Doc
}

// route lists one route and tells how completely.
func (v *inventory) route(index int, route sdkplugin.Route, directory bool) (sdkplugin.RouteState, error) {
	if !directory {
		return v.file(index, route), nil
	}
	// A Claude home holds the projects container.
	projects, err := os.Lstat(filepath.Join(route.Path, projectsDir))
	home := err == nil && projects.IsDir()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sdkplugin.RouteUnreadable, nil
	}
	entries, state, err := v.Tree(index, jsonl.Walk{
		Route: route.Path, Match: wanted, Descend: entered(home), MaxFiles: maxWalkFiles,
	})
	if err != nil || entries == nil {
		return state, err
	}
	if !v.transcripts(index, route, home, entries) {
		state = sdkplugin.RouteIncomplete
	}
	return state, nil
}

// file takes a route that is one transcript.
func (v *inventory) file(index int, route sdkplugin.Route) sdkplugin.RouteState {
	state, err := jsonl.Observe(route.Path, "", v.Work)
	if err != nil {
		return sdkplugin.RouteUnreadable
	}
	placed, ok := placeFile(route.Path)
	if !ok {
		v.Warn(index, "", "not_a_transcript", "the name is not that of a transcript")
		return sdkplugin.RouteComplete
	}
	v.Files++
	if !v.add(route, candidate{route: index, placed: placed, observed: observed{transcript: state}}) {
		return sdkplugin.RouteIncomplete
	}
	return sdkplugin.RouteComplete
}

// transcripts turns the files of a walk into candidates. complete is false when one of them could not be told.
func (v *inventory) transcripts(index int, route sdkplugin.Route, home bool, entries []jsonl.Entry) (complete bool) {
	depth := homeDepth
	if !home {
		depth = depthOf(entries)
	}
	beside := map[string]jsonl.Observation{}
	for i := range entries {
		if !strings.HasSuffix(entries[i].Locator, transcriptSuffix) {
			beside[entries[i].Locator] = entries[i].Observation
		}
	}
	complete = true
	start := len(v.found)
	v.found = slices.Grow(v.found, len(entries)-len(beside))
	for i := range entries {
		placed, ok := place(depth, entries[i].Locator)
		if !ok {
			continue
		}
		c := candidate{route: index, locator: entries[i].Locator, placed: placed}
		c.observed.transcript = entries[i].Observation
		c.observed.sidecar, c.observed.hasSidecar = beside[sidecarOf(placed.key, c.locator)]
		complete = v.add(route, c) && complete
	}
	v.found = append(v.found[:start], tellApart(v.found[start:])...)
	return complete
}

// add takes a candidate whose session is known. The root of an agent that lies beside the main transcripts stands in its file;
// without a complete record nothing can be told of it yet. ok is false when the file could not be read.
func (v *inventory) add(route sdkplugin.Route, c candidate) (ok bool) {
	if c.placed.flat {
		root, records, err := v.rootOf(route.Path, c.locator)
		switch {
		case jsonl.ClassOf(err) == jsonl.Vanished:
		case err != nil:
			v.Warn(c.route, c.locator, "unreadable", "the root session of an agent could not be read")
			return false
		case root != "":
			c.placed.key.root = root
		case records > 0:
			c.placed.key = sessionKey{root: c.placed.key.agent}
		}
	}
	if c.placed.key.valid() {
		v.found = append(v.found, c)
	}
	return true
}

// rootOf returns the first session id in a file and the number of records read for it.
func (v *inventory) rootOf(route, locator string) (root string, records int, err error) {
	f, err := jsonl.Open(route, locator, v.Work)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	v.reader.Reset(f)
	for root == "" && v.reader.Next() {
		line := v.reader.Line()
		if line.Kind != jsonl.Record {
			continue
		}
		_, _, err = transcript.Records(&v.doc, line.Bytes, known, func(record canonical.Value) error {
			records++
			if root == "" {
				root = texts.Short(record.Get("sessionId").Str(), maxField)
			}
			return v.Ctx.Err()
		})
		if err != nil {
			return "", records, err
		}
	}
	return root, records, v.reader.Err()
}

// tellApart gives agents of one session directory that have the same name keys of their own: the first by path order keeps
// its key, a later one takes the name of its directory in. A hard link to the same file is no agent of its own.
func tellApart(found []candidate) []candidate {
	type place struct {
		dir string
		key sessionKey
	}
	first := map[place]int{}
	kept := found[:0]
	for _, c := range found {
		if key := c.placed.key; !c.placed.flat && !key.main() && key.run == "" {
			p := place{strings.TrimSuffix(path.Dir(c.locator), "/"+c.placed.below), key}
			earlier, taken := first[p]
			if taken && kept[earlier].observed.transcript.SameFile(c.observed.transcript) {
				continue
			}
			for _, suffix := range [...]string{path.Base(path.Dir(c.locator)), c.placed.below} {
				if taken {
					p.key.agent = key.agent + "/" + suffix
					_, taken = first[p]
				}
			}
			if c.placed.key = p.key; !taken {
				first[p] = len(kept)
			}
		}
		kept = append(kept, c)
	}
	return kept
}

// oneEach leaves one file for each session. Routes of one name space are compared, so that a session that lies under both
// automatic roots comes once; a configured root of its own name has sessions of its own.
func (v *inventory) oneEach(routes []sdkplugin.Route) {
	type identity struct {
		label string
		key   sessionKey
	}
	best := make(map[identity]int, len(v.found))
	for i := range v.found {
		id := identity{routes[v.found[i].route].Label, v.found[i].placed.key}
		winner, taken := best[id]
		if best[id] = i; !taken {
			continue
		}
		loser, same := winner, v.found[i].observed.transcript.SameFile(v.found[winner].observed.transcript)
		if same || !v.found[i].observed.transcript.Newer(v.found[winner].observed.transcript) {
			best[id], loser = winner, i
		}
		v.found[loser].dropped = true
		if !same {
			v.Warn(v.found[loser].route, v.found[loser].locator, "duplicate_session",
				"another file of the same session is newer and is taken instead")
		}
	}
	v.found = slices.DeleteFunc(v.found, func(c candidate) bool { return c.dropped })
}
