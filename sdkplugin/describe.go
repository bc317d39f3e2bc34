package sdkplugin

// DescribeRequest is what Describe is asked with.
type DescribeRequest struct {
	HostVersion string
}

// DescribeResponse is the static description of a provider. It must be the
// same in every call: fill it from constants, open nothing.
type DescribeResponse struct {
	ID             string   // lower case letters, digits and '_': part of every public id, so never change it
	CLIName        string   // kebab case; empty = ID with '-' for '_'
	Aliases        []string // other spellings that people use
	DisplayName    string   // empty = CLIName
	Version        string   // of the plugin
	ParserRevision string   // change it when the same bytes give other events: all sources are read again
	Formats        []Format
	Root           *RootCapability // nil = no configured roots
	Locations      []Location      // where the history normally lies, in order of precedence
	Environment    []string        // variables that Resolve needs beyond those of Locations and CurrentSession
	CurrentSession *CurrentSession
	Resume         *ResumeCommand
	Limits         ProviderLimits
	ExactPaths     []PathRule // for an explicit path; the first match wins
	// NoKnownLocation: this agent has no established place; Locations is empty.
	NoKnownLocation bool
}

// Format is one way in which the agent stores its history.
type Format struct {
	Name            string // of a route, e.g. "acme_sessions_jsonl_tree"
	Leaf            string // of a source below such a route; empty = Name
	SchemaVariant   string // e.g. "acme-jsonl-v1"
	IdentityVersion uint32 // of the native keys; 0 = 1
	ParserRevision  string // empty = that of the provider
	Family          Family
	Import          ImportSupport
}

// RootCapability says what a configured root (`ctx sources add`) of this
// provider is.
type RootCapability struct {
	Kind     PathKind
	Expander string // empty = "exact_source": the root is the one child
	Children []RootChild
	Kinds    []string // values that the root's `kind` may have
}

// RootChild is a route below a configured root.
type RootChild struct {
	Suffix string // '/' separated; empty = the root itself
	Format string
	Role   string // e.g. "acme-sessions"; one word for each place, kept for good
	Path   PathKind
	Kind   string // only for roots of this kind
}

// Location is one declared place. Locations of one Slot compete in order.
type Location struct {
	Env      string // variable that gives the directory; empty = Base
	EnvList  bool   // its value may be a comma list of absolute directories that coexist
	Base     Base
	Suffix   string // appended, '/' separated
	Format   string // Format.Name
	Role     string
	Mode     LocationMode
	Platform []Platform // empty = all
	Probe    *Probe
	Slot     string // empty = Role
	Relative RelativeRule
	// An empty value of Env is unset, unless EmptyIsSet (then it is reported).
	// BlankIsUnset: so is white space.
	BlankIsUnset bool
	EmptyIsSet   bool
	MustExist    bool     // a value that does not exist is reported instead of listed as missing
	NoDiskValues []string // values that mean "nothing on disk"; "*" = any
	Path         PathKind
}

// Probe finds out with little work whether a place holds anything to import:
// one file whose path below it matches a glob ('*', '?', and '**' for any
// number of components).
type Probe struct {
	Globs      []string
	MaxDepth   uint32 // 0 = 8, at most 64
	MaxEntries uint32 // 0 = 10,000, at most 10,000
}

// PathRule gives the route of an explicit path by its last component.
type PathRule struct {
	NameGlob string
	Kind     PathKind
	Suffix   string // appended when it exists
	Format   string // empty = Inventory finds out
	Role     string
}

// CurrentSession recognises, from the environment, the session that runs ctx.
type CurrentSession struct {
	SessionEnv string // holds the provider session id
	AllOf      []EnvMatch
	AnyOf      []EnvMatch // at least one, and none that is set may contradict
}

// EnvMatch is a variable with one of the values; no values = any non-blank one.
type EnvMatch struct {
	Name   string
	Values []string
}

// ResumeCommand is an argv in which {provider_session_id} and {cwd} are
// replaced. ctx shows it and never runs it.
type ResumeCommand struct {
	Argv        []string
	InCWD       bool // must be run in the session's directory
	PrimaryOnly bool // does not work for subagent sessions
}

// ProviderLimits are the provider's own bounds; 0 = the host's.
type ProviderLimits struct {
	RecordBytes     uint64 // longest native record
	Sources         uint32 // of one inventory
	Directories     uint32
	Depth           uint32
	ParallelSources uint32 // sources read at once; 0 = GOMAXPROCS
	MemoryBytes     uint64 // expected peak
}

// ResolveRequest is everything a Resolver may know.
type ResolveRequest struct {
	Home         string
	CWD          string // empty = unknown
	UID          uint32
	Platform     Platform
	DataDir      string
	ConfigDir    string
	StateDir     string
	LocalDataDir string
	Environment  map[string]string // only declared names that are set
}

// ResolveResponse holds what a Resolver found.
type ResolveResponse struct {
	Candidates []Candidate // at most 256
	Issues     []Issue     // at most 64
}

// Candidate is a place where history may lie.
type Candidate struct {
	Path        string // absolute
	Format      string
	Role        string
	Kind        PathKind
	Probe       *Probe
	Unsupported bool // exists, but cannot be read
}

// Codes of an Issue.
const (
	IssueNoDiskHistory = "no_disk_history"                // the agent is set up to store nothing on disk
	IssueSelector      = "selector_unreconstructible"     // the place in effect cannot be found out safely
	IssueNoEvidence    = "insufficient_official_evidence" // no place is established
)

// Issue is why a place could not be resolved.
type Issue struct {
	Path    string // empty = none
	Code    string
	Message string // at most 512 bytes, without paths and system error text
}
