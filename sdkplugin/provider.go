package sdkplugin

import (
	"context"
	"path/filepath"
)

// Provider is what an author implements. All methods may be called from several goroutines at once and must give up when ctx is
// done.
type Provider interface {
	// Describe fills resp with static data.
	Describe(ctx context.Context, req DescribeRequest, resp *DescribeResponse)

	// Inventory lists the sources of every route of req, without reading more of them than names, sizes and times, and says for
	// every route how completely it was listed. An error means that nothing could be listed; trouble with single files is a
	// diagnostic of out.
	Inventory(ctx context.Context, req InventoryRequest, out *InventoryWriter) error

	// Scan reads the one source of req. It ends with out.End or with an error: a *Failure or an error of package jsonl gives its
	// class, any other one counts as internal.
	Scan(ctx context.Context, req ScanRequest, out *SourceWriter) error
}

// Resolver is implemented by providers whose history lies where no list of Locations can say, e.g. in a directory named by the
// agent's own config file.
type Resolver interface {
	Resolve(ctx context.Context, req *ResolveRequest, resp *ResolveResponse) error
}

// Observer is implemented by providers that can tell from one file what has
// become of its source. A refresh after a change then costs that file and not
// a list of all others; without it everything is listed each time.
type Observer interface {
	// Observe looks again at a file below a route. known is what ctx has read
	// from it: anchor, format, the last observation, Size = certified bytes;
	// with an empty Anchor nothing was. The result is what Inventory would
	// give for the file now, or the zero Source when the file is none of the
	// provider's. With an error, e.g. because other sources may depend on the
	// file, everything is listed instead.
	Observe(ctx context.Context, route Route, known Source) (Source, error)
}

// Route is a place that the provider may read; it must open nothing outside.
type Route struct {
	ID       string
	Path     string // absolute, links of the root already resolved
	Format   string // empty: an explicit path, the provider finds out
	Role     string
	Lineage  []byte // 32 bytes, for LineageAnchor
	Label    string // name of a configured root, else empty
	Explicit bool   // named by the user for one run
}

// InventoryRequest asks for the sources of all routes at once, so that a session that lies in two of them can be given once.
type InventoryRequest struct {
	Routes     []Route
	MaxSources int
}

// Source is one unit of reading.
type Source struct {
	Route   int    // index into the request's routes
	Anchor  Anchor // identity; two sources of one inventory never share it
	Format  string // Format.Leaf
	Locator string // below the route, '/' separated; empty = the route itself
	// Observation is a token that changes whenever the bytes change. For a file, jsonl.Observation makes a good one. It may cover
	// other files that the result depends on.
	Observation       []byte
	Size              uint64 // bytes of source data
	ModTimeNS         int64
	FileID            uint64 // inode or file index; 0 = none
	ProviderSessionID string // when known without reading
}

// ScanRequest asks for one source.
type ScanRequest struct {
	Routes []Route // all routes, as in the inventory
	Route  Route   // that of the source
	Source Source
	Mode   Mode
	// What the last scan certified; zero in mode Full.
	Frontier       []byte
	CertifiedBytes uint64
	ContentDigest  []byte
	Counts         Counts
}

// Path is the file of the source in the form of the operating system.
func (r *ScanRequest) Path() string {
	return filepath.Join(r.Route.Path, filepath.FromSlash(r.Source.Locator))
}
