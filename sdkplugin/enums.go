package sdkplugin

// Scope tells the agent a person talks to from the agents that one starts.
type Scope int32

const (
	ScopeUnknown Scope = iota
	ScopePrimary
	ScopeSubagent
)

// Relationship of a session to its parent, as the agent's data states it.
type Relationship int32

const (
	RelationshipUnknown Relationship = iota
	RelationshipRoot
	RelationshipDelegated
	RelationshipForked
	RelationshipResumedFrom
	RelationshipWorkflowChild
)

// Proof of a CopyClaim.
type Proof int32

const (
	_                           Proof = iota
	ProofNativeEventIdentity          // the same native event id
	ProofNativeCopiedFrom             // a field that names the original
	ProofNativeCallResult             // the same unique call id
	ProofCertifiedOrderedPrefix       // an inherited prefix, equal in order
)

// CaptureStatus of a Capture.
type CaptureStatus int32

const (
	CaptureAbsent CaptureStatus = iota
	CapturePresent
	CaptureUnavailable
	CaptureOmitted
	CaptureSameAsBody // Result.Text only
)

// PolicyStatus of a Policy.
type PolicyStatus int32

const (
	Selected PolicyStatus = iota
	Redacted
	OmittedContent // the event has neither body nor structured content nor activity
)

// FactKind of a Fact.
type FactKind int32

const (
	_                       FactKind = iota
	FactSessionCWD                   // directory of the session
	FactToolWorkdir                  // directory of one tool call
	FactFile                         // a file the event names
	FactURL                          //
	FactForge                        // a code hosting service
	FactProject                      // a project or repository name
	FactVCS                          // a version control system
	FactCommit                       //
	FactPullRequest                  //
	FactCommand                      //
	FactBranch                       //
	FactWorkspace                    //
	FactProviderDisposition          // the provider's own judgement of the event
)

// Mode of a scan.
type Mode int32

const (
	_          Mode = iota
	ModeFull        // the whole source
	ModeAppend      // only what was added behind the certified prefix
)

// Family of a source format.
type Family int32

const (
	_               Family = iota
	JSONLTranscript        // append-only JSON Lines
	SQLiteMessages         // a table of messages
	SQLiteEncoded          // blobs in a database
	JSONDocument           // one document a session, rewritten whole
	EventLog               // many small immutable files
)

// ImportSupport says how a format gets imported.
type ImportSupport int32

const (
	ImportNative      ImportSupport = iota // by discovery
	ImportExplicit                         // only when the user names it
	ImportUnsupported                      // never; only listed
)

// PathKind of a route.
type PathKind int32

const (
	PathAny PathKind = iota
	PathDirectory
	PathFile
)

// Base is a directory of the user that a Location starts from.
type Base int32

const (
	NoBase       Base = iota // the value of Location.Env alone
	HomeDir                  // the home directory
	ConfigDir                // XDG config, Library/Application Support, Roaming
	DataDir                  // XDG data, Library/Application Support, Local
	StateDir                 // XDG state
	LocalDataDir             // Local on Windows, else as DataDir
	RoamingDir               // Roaming on Windows
	WorkingDir               // the current directory
)

// Platform restricts a Location.
type Platform int32

const (
	_ Platform = iota
	Linux
	MacOS
	Windows
	OtherUnix
)

// LocationMode says how a Location competes with others of its slot.
type LocationMode int32

const (
	DefaultLocation  LocationMode = iota // used when no override applies
	OverrideLocation                     // applies when Env is set; suppresses the default even when it is unusable
	BesideLocation                       // joins the default when it exists and is another directory
	LegacyLocation                       // used only when the default is proven missing
)

// RelativeRule says what a relative value of Location.Env means.
type RelativeRule int32

const (
	RefuseRelative RelativeRule = iota // it is reported, nothing is read
	FromWorkingDir
	FromBase
)

// RouteState is the result of listing one route.
type RouteState int32

const (
	_               RouteState = iota
	RouteComplete              // every source below it was given
	RouteIncomplete            // a bound was hit or a directory could not be read
	RouteMissing               // it is proven not to exist
	RouteUnreadable            // it cannot be read at all
)

// Severity of a Diagnostic.
type Severity int32

const (
	_ Severity = iota
	SeverityError
	SeverityWarning
	SeverityInfo
)
