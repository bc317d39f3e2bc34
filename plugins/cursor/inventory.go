package cursor

import (
	"cmp"
	"context"
	"encoding/binary"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
)

// store is where the events of a session can come from. A lower one wins over a higher one.
type store uint8

const (
	transcripts store = iota
	cliStore
	ideState
	stores // their number
)

var formatNames = [stores]string{transcriptLeaf, storeFormat, stateFormat}

// found is a session in one store.
type found struct {
	store   store
	route   int
	locator string
	id      sessionID
	seen    jsonl.Observation

	slug  string // transcripts: name of the project directory
	plain bool   // transcripts: of plain text

	log, meta jsonl.Observation // CLI store: the log and the description beside it; zero = none
	dirHash   string

	head *head // editor's state
}

// session is what all stores have of one session.
type session struct {
	in    [stores]*found
	taken store
}

// scope tells sessions of equal names apart that belong to different roots.
type scope struct {
	lineage string
	id      sessionID
}

// library is what an inventory found.
type library struct {
	listing.Listing
	routes   []sdkplugin.Route
	sessions map[scope]*session
	list     []*found // those that are taken, by route, then by locator, then by id

	workspaceLock sync.Mutex
	workspaces    map[int]*workspaces // by route
}

// Inventory lists the sessions of all routes, each in the store that it is taken from.
func (p *provider) Inventory(ctx context.Context, req sdkplugin.InventoryRequest, out *sdkplugin.InventoryWriter) error {
	lib, err := p.look(ctx, req.Routes)
	if err != nil {
		return err
	}
	p.keep(lib)
	return lib.Give(out, len(lib.list), func(i int) sdkplugin.Source { return lib.source(lib.list[i]) })
}

// look lists every route and chooses the stores.
func (p *provider) look(ctx context.Context, routes []sdkplugin.Route) (*library, error) {
	lib := &library{
		Listing: listing.Listing{Ctx: ctx, Work: p.work}, routes: routes, sessions: map[scope]*session{}, workspaces: map[int]*workspaces{},
	}
	err := lib.Routes(routes, func(i int, directory bool) (sdkplugin.RouteState, error) {
		switch storeOf(routes[i]) {
		case cliStore:
			return lib.cliStores(ctx, i, routes[i], directory)
		case ideState:
			return lib.ideState(ctx, i, routes[i], directory)
		}
		return lib.transcripts(ctx, i, routes[i], directory)
	})
	if err == nil {
		err = lib.choose(ctx)
	}
	return lib, err
}

// storeOf tells which store a route is of.
func storeOf(route sdkplugin.Route) store {
	switch {
	case route.Format == storeFormat || filepath.Base(route.Path) == storeName:
		return cliStore
	case route.Format == stateFormat || filepath.Base(route.Path) == stateName:
		return ideState
	}
	return transcripts
}

func (l *library) transcripts(ctx context.Context, index int, route sdkplugin.Route, isDir bool) (sdkplugin.RouteState, error) {
	if !isDir {
		seen, err := jsonl.Observe(route.Path, "", l.Work)
		if err != nil {
			return sdkplugin.RouteUnreadable, nil
		}
		return sdkplugin.RouteComplete, l.transcript(ctx, index, route, jsonl.Entry{Observation: seen})
	}
	entries, state, err := l.Tree(index, jsonl.Walk{
		Route: route.Path, Match: transcriptFile(route.Path), Descend: transcriptDir(route.Path),
	})
	if err != nil {
		return state, err
	}
	for _, entry := range entries {
		if err := l.transcript(ctx, index, route, entry); err != nil {
			return 0, err
		}
	}
	return state, nil
}

func (l *library) transcript(ctx context.Context, index int, route sdkplugin.Route, entry jsonl.Entry) error {
	p, ok := placeOf(route.Path, entry.Locator)
	switch {
	case !ok:
		l.Warn(index, entry.Locator, "not_a_transcript", "the name is not that of a transcript")
		return nil
	case p.stray:
		l.Warn(index, entry.Locator, "stray_transcript", "the name is not that of the session whose directory it lies in")
		return nil
	}
	return l.add(ctx, &found{
		store: transcripts, route: index, locator: entry.Locator, id: p.id, seen: entry.Observation, slug: p.slug, plain: p.plain,
	})
}

// cliStores lists a directory of databases, or one database.
func (l *library) cliStores(ctx context.Context, index int, route sdkplugin.Route, isDir bool) (sdkplugin.RouteState, error) {
	if !isDir {
		seen, err := jsonl.Observe(route.Path, "", l.Work)
		if err != nil {
			return sdkplugin.RouteUnreadable, nil
		}
		f := &found{store: cliStore, route: index, seen: seen}
		f.log, _ = jsonl.Observe(route.Path+logSuffix, "", l.Work)
		f.meta, _ = jsonl.Observe(filepath.Join(filepath.Dir(route.Path), storeMetaName), "", l.Work)
		f.id, f.dirHash = storePlace(route.Path)
		return sdkplugin.RouteComplete, l.add(ctx, f)
	}
	entries, state, err := l.Tree(index, jsonl.Walk{Route: route.Path, Match: storeFile, Descend: storeDir})
	if err != nil {
		return state, err
	}
	beside := map[string]jsonl.Observation{}
	for _, entry := range entries {
		beside[entry.Locator] = entry.Observation
	}
	for _, entry := range entries {
		if path.Base(entry.Locator) != storeName {
			continue
		}
		f := &found{store: cliStore, route: index, locator: entry.Locator, seen: entry.Observation}
		f.log, f.meta = beside[entry.Locator+logSuffix], beside[path.Join(path.Dir(entry.Locator), storeMetaName)]
		f.id, f.dirHash = storePlace(path.Join(filepath.ToSlash(route.Path), entry.Locator))
		if err := l.add(ctx, f); err != nil {
			return 0, err
		}
	}
	return state, nil
}

// of returns all that was found of a session that is taken.
func (l *library) of(route sdkplugin.Route, id sessionID) *session {
	return l.sessions[scope{string(route.Lineage), id}]
}

func (l *library) source(f *found) sdkplugin.Source {
	s := sdkplugin.Source{
		Route: f.route, Anchor: f.id.anchor(), Format: formatNames[f.store], Locator: f.locator, ProviderSessionID: string(f.id),
		Size: f.seen.Size, ModTimeNS: f.seen.MtimeNS, FileID: f.seen.FileID, Observation: l.observation(f),
	}
	if f.store == ideState {
		s.Size, s.ModTimeNS = f.head.size, f.head.updated*1e6
	}
	return s
}

// observation covers what the events of a session depend on, and the heads of it in the other stores.
func (l *library) observation(f *found) []byte {
	token := []byte{byte(f.store)}
	switch f.store {
	case ideState:
		token = binary.BigEndian.AppendUint64(append(token, f.head.digest[:]...), f.head.named())
	default:
		token = appendSeen(token, f.seen, f.log)
	}
	s := l.of(l.routes[f.route], f.id)
	if other := s.in[cliStore]; other != nil {
		token = appendSeen(token, other.meta)
	}
	if other := s.in[ideState]; other != nil && f.store != ideState {
		token = binary.BigEndian.AppendUint64(token, other.head.named())
	}
	return token
}

func appendSeen(token []byte, all ...jsonl.Observation) []byte {
	for _, o := range all {
		if o.Size == 0 {
			o = jsonl.Observation{} // an empty log is no log
		}
		token = o.AppendToken(token)
	}
	return token
}

// add takes a session in a store. When a store has two of one name, the better one stays.
func (l *library) add(ctx context.Context, f *found) error {
	if !f.id.valid() {
		l.Warn(f.route, f.locator, "unusable_name", "the session has no usable name")
		return nil
	}
	key := scope{string(l.routes[f.route].Lineage), f.id}
	s := l.sessions[key]
	if s == nil {
		s = &session{}
		l.sessions[key] = s
	}
	old := s.in[f.store]
	if old == nil {
		s.in[f.store] = f
		return nil
	}
	better, worse := f, old
	if !f.beats(old) {
		better, worse = old, f
	}
	s.in[f.store] = better
	if f.seen.SameFile(old.seen) || better.plain != worse.plain {
		return nil
	}
	if f.store == transcripts {
		same, err := l.prefix(ctx, better, worse)
		if err != nil || same {
			return err
		}
	}
	l.Warn(worse.route, worse.locator, "duplicate_session", "another file of the same session is newer and is taken instead")
	return nil
}

// beats tells whether a session found later is taken in place of one found earlier: lines before plain text, then the newest,
// then the longest.
func (f *found) beats(old *found) bool {
	if f.plain != old.plain {
		return old.plain
	}
	if f.store == ideState {
		return f.head.updated > old.head.updated
	}
	return f.seen.Newer(old.seen)
}

// choose decides from which store each session is taken.
func (l *library) choose(ctx context.Context) error {
	var look scanner
	for _, s := range l.sessions {
		for s.taken < ideState && s.in[s.taken] == nil {
			s.taken++
		}
		if s.taken == transcripts && s.in[ideState] != nil {
			richer, err := l.richer(ctx, &look, s.in[ideState], s.in[transcripts])
			if err != nil {
				return err
			}
			if richer {
				s.taken = ideState
			}
		}
		l.list = append(l.list, s.in[s.taken])
	}
	slices.SortFunc(l.list, func(a, b *found) int {
		return cmp.Or(cmp.Compare(a.route, b.route), strings.Compare(a.locator, b.locator), strings.Compare(string(a.id), string(b.id)))
	})
	return nil
}
