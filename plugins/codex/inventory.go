package codex

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
)

// candidate is a file that may become a source.
type candidate struct {
	route    int
	base     string // path of the route
	locator  string
	seen     jsonl.Observation
	thread   string // owner of a rollout
	prompts  bool   // a prompt log
	probe    probe
	suffix   []byte
	lost     bool  // another copy of the thread is read
	complete int64 // complete lines, of threads with several copies; -1 = not counted
}

// Inventory lists the rollouts and prompt logs of all routes.
func (p *provider) Inventory(ctx context.Context, req sdkplugin.InventoryRequest, out *sdkplugin.InventoryWriter) error {
	v, err := p.list(ctx, req.Routes)
	if err != nil {
		return err
	}
	return v.Give(out, len(v.found), func(i int) sdkplugin.Source { return v.found[i].source(req.Routes) })
}

func (c *candidate) source(routes []sdkplugin.Route) sdkplugin.Source {
	s := sdkplugin.Source{
		Route: c.route, Format: leafFormat, Locator: c.locator, Observation: append(c.seen.Token(), c.suffix...),
		Size: c.seen.Size, ModTimeNS: c.seen.MtimeNS, FileID: c.seen.FileID,
	}
	switch {
	case c.prompts:
		s.Anchor, s.Format = sdkplugin.LineageAnchor(routes[c.route]), promptFormat
		return s
	case c.probe.bare:
		s.Format = bareFormat
	}
	s.Anchor, s.ProviderSessionID = anchorOf(c.thread), c.thread
	return s
}

// inventory is one listing under way.
type inventory struct {
	listing.Listing
	routes []sdkplugin.Route
	found  []*candidate // by route, then by locator

	reader jsonl.Reader
	doc    canonical.Doc
}

// list looks at every route and remembers what their homes hold.
func (p *provider) list(ctx context.Context, routes []sdkplugin.Route) (*inventory, error) {
	v := &inventory{Listing: listing.Listing{Ctx: ctx, Work: p.work}, routes: routes}
	err := v.Routes(routes, func(i int, directory bool) (sdkplugin.RouteState, error) {
		before := len(v.found)
		state, err := v.route(i, directory)
		if err == nil {
			err = v.probes(routes[i].Path, v.found[before:])
		}
		return state, err
	})
	if err != nil {
		return nil, err
	}
	if err := v.oneEach(); err != nil {
		return nil, err
	}
	homes := v.homes()
	p.mu.Lock()
	p.homes = homes
	p.mu.Unlock()
	return v, nil
}

// route lists one route and tells how completely.
func (v *inventory) route(index int, directory bool) (sdkplugin.RouteState, error) {
	route := v.routes[index]
	if !directory {
		return v.file(index), v.Ctx.Err()
	}
	entries, state, err := v.Tree(index, jsonl.Walk{Route: route.Path, Match: rollout, Descend: descends(route.Path)})
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !v.rollout(index, e.Locator, e.Observation) {
			state = sdkplugin.RouteIncomplete
		}
	}
	return state, v.Ctx.Err()
}

// descends tells which directories of a route are entered: all of a tree, of a home only its trees.
func descends(route string) func(string) bool {
	if homeOf(route, true) != route {
		return nil // a tree, whatever its directories are called
	}
	for _, tree := range [...]string{sessionsDir, archivedDir} {
		if info, err := os.Lstat(route + string(os.PathSeparator) + tree); err == nil && info.IsDir() {
			return func(locator string) bool {
				first, _, _ := strings.Cut(locator, "/")
				return first == sessionsDir || first == archivedDir
			}
		}
	}
	return nil
}

// file takes a route that is one file: a prompt log, or a rollout.
func (v *inventory) file(index int) sdkplugin.RouteState {
	route := v.routes[index]
	seen, err := jsonl.Observe(route.Path, "", v.Work)
	if err != nil {
		return sdkplugin.RouteUnreadable
	}
	v.Files++
	if shapeOf(route, &v.reader, &v.doc, v.Work) == promptFormat {
		v.found = append(v.found, &candidate{route: index, base: route.Path, seen: seen, prompts: true})
	} else if !v.rollout(index, "", seen) {
		return sdkplugin.RouteIncomplete
	}
	return sdkplugin.RouteComplete
}

// shapeOf tells what the file that a route is holds: what the route says, else what its first record is; "" when that does not
// decide. Such a file is listed too: reading it says so.
func shapeOf(route sdkplugin.Route, r *jsonl.Reader, doc *canonical.Doc, work *jsonl.Work) string {
	switch {
	case route.Format == promptFormat:
		return promptFormat
	case route.Format != "" || packed(route.Path):
		return leafFormat
	}
	f, err := jsonl.Open(route.Path, "", work)
	if err != nil {
		return ""
	}
	defer f.Close()
	r.Reset(f)
	for r.Next() {
		line := r.Line()
		if line.Kind != jsonl.Record {
			continue
		}
		if doc.Parse(line.Bytes) != nil {
			return ""
		}
		first := doc.Root()
		_, isBare := bareHeader(first)
		row := first.Get("session_id").IsString() && first.Get("ts").IsInteger() && first.Get("text").IsString()
		envelope := first.Get("timestamp").IsString() && first.Get("type").IsString() && first.Get("payload").IsObject()
		switch {
		case row && !envelope && !isBare:
			return promptFormat
		case (envelope || isBare) && !row:
			return leafFormat
		}
		return ""
	}
	return ""
}

// rollout takes a file whose thread its name tells, or else its first lines. A file that does not tell its thread is named after
// its stem: reading it fails. ok is false when it could not be read.
func (v *inventory) rollout(index int, locator string, seen jsonl.Observation) (ok bool) {
	route := v.routes[index]
	name := locator
	if name == "" {
		name = route.Path
	}
	stem := stemOf(name)
	c := &candidate{route: index, base: route.Path, locator: locator, seen: seen, thread: expectedOwner(stem), complete: -1}
	ok = true
	if c.thread == "" {
		if len(stem) > maxThread || stem == "" {
			return true
		}
		h, err := v.head(c, packed(name))
		switch class := jsonl.ClassOf(err); {
		case class == jsonl.Vanished:
			return true
		case err == nil:
			owner, _ := h.owner(stem, packed(name))
			c.thread = owner.ID
		case class != string(sdkplugin.MalformedSource):
			ok = false // what the file gave earlier may still be in it
		}
		c.thread = cmp.Or(c.thread, stem)
	}
	v.found = append(v.found, c)
	return ok
}

// probes looks at the beginnings of the rollouts of one route.
func (v *inventory) probes(route string, found []*candidate) error {
	var raw []*candidate
	var entries []jsonl.Entry
	for _, c := range found {
		if c.prompts {
			continue
		}
		if c.locator == "" || packed(c.locator) {
			c.probe = look(c.begin(v.Ctx, probeBytes, v.Work), func() []byte { return c.begin(v.Ctx, bareBytes, v.Work) })
			continue
		}
		raw = append(raw, c)
		entries = append(entries, jsonl.Entry{Locator: c.locator})
	}
	return jsonl.Heads(v.Ctx, route, entries, probeBytes, v.Work, func(place int, head []byte) {
		raw[place].probe = look(head, func() []byte { return raw[place].begin(v.Ctx, bareBytes, v.Work) })
	})
}

func (v *inventory) head(c *candidate, isPacked bool) (head, error) {
	content, err := openContent(v.Ctx, c.base, c.locator, v.Work, reading{})
	if err != nil {
		return head{}, err
	}
	defer content.Close()
	if err := content.restart(&v.reader); err != nil {
		return head{}, err
	}
	v.reader.Undigested()
	return readHead(v.Ctx, &v.reader, &v.doc, isPacked, headBytes)
}

// oneEach leaves one copy of each thread of a home: the one with the most complete lines, then a raw one, then the first by path.
func (v *inventory) oneEach() error {
	type identity struct{ label, thread string }
	best := make(map[identity]*candidate, len(v.found))
	for _, c := range v.found {
		if c.prompts {
			continue
		}
		id := identity{v.routes[c.route].Label, c.thread}
		winner := best[id]
		if winner == nil {
			best[id] = c
			continue
		}
		if !c.seen.SameFile(winner.seen) {
			v.count(winner)
			v.count(c)
			if v.Ctx.Err() != nil {
				return v.Ctx.Err()
			}
			if c.better(winner) {
				best[id], winner.lost = c, true
				continue
			}
		}
		c.lost = true
	}
	v.found = slices.DeleteFunc(v.found, func(c *candidate) bool { return c.lost })
	return nil
}

// better tells whether a copy wins over one that comes before it in the order of paths.
func (c *candidate) better(winner *candidate) bool {
	if n := cmp.Compare(c.complete, winner.complete); n != 0 {
		return n > 0
	}
	if loses := packed(c.path()); loses != packed(winner.path()) {
		return !loses
	}
	return c.path() < winner.path()
}

// count counts the complete lines of a copy; one that cannot be read has none.
func (v *inventory) count(c *candidate) {
	if c.complete >= 0 {
		return
	}
	c.complete = 0
	content, err := openContent(v.Ctx, c.base, c.locator, v.Work, reading{})
	if err != nil {
		return
	}
	defer content.Close()
	source, err := content.stream()
	if err != nil {
		return
	}
	buf := make([]byte, 256<<10)
	for v.Ctx.Err() == nil {
		n, err := source.Read(buf)
		c.complete += int64(bytes.Count(buf[:n], []byte("\n")))
		if err != nil {
			if content.packed != nil && !errors.Is(err, io.EOF) {
				c.complete = 0
			}
			return
		}
	}
}

// homes makes the index of every home and completes the observations of its rollouts.
func (v *inventory) homes() map[homeKey]*home {
	homes := map[homeKey]*home{}
	of := make([]*home, len(v.routes))
	for i, route := range v.routes {
		key := keyOf(route)
		if homes[key] == nil {
			homes[key] = &home{rollouts: map[string]*candidate{}, titles: readTitles(key.path, v.Work)}
		}
		of[i] = homes[key]
	}
	for _, c := range v.found {
		if !c.prompts {
			of[c.route].rollouts[c.thread] = c
		}
	}
	beginnings := map[*candidate][sha256.Size]byte{}
	beginning := func(c *candidate) [sha256.Size]byte {
		digest, known := beginnings[c]
		if !known {
			digest = sha256.Sum256(c.begin(v.Ctx, parentBytes, v.Work))
			beginnings[c] = digest
		}
		return digest
	}
	for _, c := range v.found {
		if !c.prompts {
			c.suffix = of[c.route].suffix(c, beginning)
		}
	}
	return homes
}
