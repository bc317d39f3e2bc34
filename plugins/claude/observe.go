package claude

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/listing"
)

// Observe looks at one transcript again. Of a new one its place tells the session, where nothing but its place does.
func (p *provider) Observe(_ context.Context, route sdkplugin.Route, known sdkplugin.Source) (sdkplugin.Source, error) {
	c := candidate{locator: known.Locator}
	var err error
	switch {
	case len(known.Anchor) > 0:
		c.placed.key, err = keyOfAnchor(known.Anchor)
	case !wanted(known.Locator):
		return sdkplugin.Source{}, nil // output of tools, say
	default:
		c.placed, err = placeNew(route.Path, known.Locator)
	}
	if err != nil {
		return sdkplugin.Source{}, err
	}
	if c.observed.transcript, err = jsonl.Observe(route.Path, known.Locator, p.work); err != nil {
		return sdkplugin.Source{}, err
	}
	if known.Locator != "" { // a route that is a transcript itself is listed without its sidecar
		c.observed.sidecar, err = jsonl.Observe(route.Path, sidecarOf(c.placed.key, known.Locator), p.work)
		if c.observed.hasSidecar = err == nil; jsonl.ClassOf(err) == jsonl.Vanished {
			err = nil
		}
	}
	return c.source(), err
}

// placeNew reads the place of a transcript that was not there before. It has to show by itself that the route is a container, and
// that it is no agent whose root stands in its content.
func placeNew(route, locator string) (placed, error) {
	home, err := os.Lstat(filepath.Join(route, projectsDir))
	p, ok := place(containerDepth, locator)
	parts := strings.Split(locator, "/")
	shows := len(parts) == 2 || len(parts) > 3 && parts[2] == subagentsDir
	if err == nil && home.IsDir() || !ok || !shows || p.flat || !p.key.valid() || !entered(false)(strings.Join(parts[:len(parts)-1], "/")) {
		return placed{}, listing.ErrUnclear
	}
	return p, nil
}
