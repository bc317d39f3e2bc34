// Package refresh brings the index up to date with the histories on disk.
//
// Words: a route is a place to read (see package sources). The inventory of a route is the list of its sources as the provider sees
// it now. A sighting is where and how an unchanged source was last seen. A receipt tells later readers how the last run ended.
//
// A run goes through four steps. The plan compares the inventories with the certificates of the active generation: nothing, an append
// or a full read for every source. The scan streams the planned sources from the provider processes into a candidate of the store.
// Settle does what needs no reading: sources that moved, came back or are gone. Publish looks at the disk once more and makes the
// candidate the active generation.
//
// Errors: fail ends the run, for a failure of the store or of ctx itself; abandon fails one source, which keeps the records it had.
// Whatever a provider says or does only ever abandons: a contradiction its source, the end of its process the sources it had begun.
// Package pluginhost has checked the form of every message; what is checked here is what only the store's side can know.
//
// Cost follows new bytes. A run that finds nothing new opens neither a source nor any file of the store for writing.
package refresh

import (
	"context"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Plugin is a running provider, as package pluginhost gives it. Messages that it hands out belong to the receiver: they are
// used by other goroutines after the callback has returned.
type Plugin interface {
	Descriptor() *historyv1.DescribeResponse
	Inventory(ctx context.Context, req *historyv1.InventoryRequest, each func(*historyv1.Source) error) (*historyv1.InventoryEnd, error)
	// Scan calls next until it reports false, and on for every message, each of the two from one goroutine.
	Scan(ctx context.Context, next func() (*historyv1.ScanSource, bool), on func(*historyv1.ScanMessage) error) error
	Close()
}

// Plugins starts the delivered providers.
type Plugins interface {
	// Names lists the delivered providers in their public order.
	Names() []string
	Start(ctx context.Context, name string) (Plugin, error)
}

// Request says what to bring up to date. All, Provider and Path choose: everything, one provider, or exactly one path of one
// provider. With none of them All is meant.
type Request struct {
	Config  *config.Config
	Store   *core.Store
	Plugins Plugins
	// Resolve asks a provider for places that its description cannot tell; nil = it is not asked.
	Resolve sources.Resolver
	// Executable is the path of the ctx program; its build identifies the kept descriptions.
	Executable string

	All      bool
	Provider string // any public spelling
	Path     string // absolute, or relative to the working directory of Config.Environment
	Resume   bool   // reported as resume_mode idempotent_rescan
	Reset    bool   // read every source of the scope from its beginning, changed or not
	Trigger  string // import, setup, search or automatic
	// Touched limits an automatic run to what changed: files by provider, with absolute paths. A provider without files is listed as a
	// whole, one that is not named is not looked at. Nil = everything of the scope.
	Touched map[string][]string
	// Known is kept by a process that makes many limited runs; nil = the run loads what it needs.
	Known *Known
	// MergeLater leaves merging to the caller: Report.MergeDue tells whether there is something to merge.
	MergeLater bool

	// Progress is called at most ten times a second and once at the end, never from two goroutines at once. Nil = nobody listens.
	Progress func(Progress)
	// Log takes what is worth a line in the log; nil = nobody.
	Log func(format string, args ...any)
	// Workers is the number of goroutines that convert and index; 0 leaves it to the store.
	Workers int
}
