// Package listing is the skeleton of an inventory: it walks the trees of routes, keeps how completely each was listed and what a
// person should know, and hands the sources out.
package listing

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Limits are those of a provider that reads files of a directory tree, four of them at once.
func Limits() *sdkplugin.ProviderLimits {
	return &sdkplugin.ProviderLimits{
		MaxRecordBytes: jsonl.MaxLine, MaxSources: jsonl.MaxFiles, MaxDirectories: jsonl.MaxDirectories, MaxDepth: jsonl.MaxDepth,
		ParallelSources: 4, MemoryBytes: 200 << 20,
	}
}

// ErrUnclear is the answer of an Observer that has everything listed.
var ErrUnclear = errors.New("the file alone does not tell")

// Listing is one inventory under way.
type Listing struct {
	Ctx         context.Context
	Work        *jsonl.Work // may be nil
	States      []sdkplugin.RouteState
	Diagnostics []sdkplugin.Diagnostic
	// What was looked at.
	Directories, Files, SkippedLinks uint64
}

// look tells what a route is: the state of one that is missing or unreadable, else RouteComplete and whether it is a directory.
func look(route string) (state sdkplugin.RouteState, directory bool) {
	info, err := os.Stat(route)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sdkplugin.RouteMissing, false
	case err != nil:
		return sdkplugin.RouteUnreadable, false
	}
	return sdkplugin.RouteComplete, info.IsDir()
}

// Routes looks at every route and keeps its state. Those that are there are handed to each, which tells how completely one was
// listed. An error ends the inventory.
func (l *Listing) Routes(routes []sdkplugin.Route, each func(index int, directory bool) (sdkplugin.RouteState, error)) error {
	for i, route := range routes {
		state, directory := look(route.Path)
		if state == sdkplugin.RouteComplete {
			var err error
			if state, err = each(i, directory); err != nil {
				return err
			}
		}
		l.States = append(l.States, state)
	}
	return nil
}

// Tree walks the tree of a route and tells how completely. An error, that of the context, ends the inventory.
func (l *Listing) Tree(route int, walk jsonl.Walk) ([]jsonl.Entry, sdkplugin.RouteState, error) {
	walk.Work = l.Work
	tree, err := walk.Run(l.Ctx)
	var failure *jsonl.Failure
	switch {
	case err == nil:
	case l.Ctx.Err() != nil:
		return nil, 0, l.Ctx.Err()
	case !errors.As(err, &failure):
		return nil, 0, err
	case failure.Class == jsonl.Vanished:
		return nil, sdkplugin.RouteMissing, nil
	default:
		l.Warn(route, "", "unreadable", failure.Reason)
		return nil, sdkplugin.RouteUnreadable, nil
	}
	l.Directories += tree.Directories
	l.Files += uint64(len(tree.Entries))
	l.SkippedLinks += tree.SkippedLinks
	state := sdkplugin.RouteComplete
	for _, problem := range tree.Problems {
		state = sdkplugin.RouteIncomplete
		l.Warn(route, problem.Locator, "unreadable", problem.Failure.Reason)
	}
	if tree.SkippedNames > 0 {
		l.Warn(route, "", "skipped_names", "files whose names are not UTF-8 are left out")
	}
	return tree.Entries, state, nil
}

// Warn adds a diagnostic about a file below a route, or about the route itself.
func (l *Listing) Warn(route int, locator, code, message string) {
	l.Diagnostics = append(l.Diagnostics, sdkplugin.Diagnostic{
		Severity: sdkplugin.SeverityWarning, Code: code, Message: message, Locator: locator, Route: route,
	})
}

// Give hands out n sources, in the order of routes and locators, and all that was learned of the routes.
func (l *Listing) Give(out *sdkplugin.InventoryWriter, n int, source func(i int) sdkplugin.Source) error {
	for i := range n {
		err := out.Source(source(i))
		if errors.Is(err, sdkplugin.ErrTooManySources) {
			for left := i; left < n; left++ {
				l.States[source(left).Route] = sdkplugin.RouteIncomplete
			}
			out.Diagnostics.AddError("too_many_sources", "more sessions than one inventory may hold")
			break
		}
		if err != nil {
			return err
		}
	}
	for i, state := range l.States {
		out.Route(i, state)
	}
	out.Walked(l.Directories, l.Files, l.SkippedLinks)
	for _, d := range l.Diagnostics {
		out.Diagnostics.Add(d)
	}
	return nil
}
