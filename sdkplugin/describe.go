package sdkplugin

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// DescribeRequest is what Describe is asked with.
type DescribeRequest struct {
	HostVersion string
}

// The static description of a provider, and the places that a Resolver finds, are messages of the wire; package historyv1
// explains every field. What the SDK fills in when it is left empty: DescribeResponse.CliName (the id with '-' for '_') and
// DisplayName, Format.Leaf (the name), IdentityVersion (1) and ParserRevision (the provider's), Location.Slot (the role),
// RootCapability.Expander ("exact_source": the root is the one child).
type (
	DescribeResponse = historyv1.DescribeResponse
	Format           = historyv1.Format         // one way in which the agent stores its history
	RootCapability   = historyv1.RootCapability // what a configured root (`ctx sources add`) is
	RootChild        = historyv1.RootChild      // a route below a configured root
	Location         = historyv1.Location       // one declared place; those of one slot compete in order
	Probe            = historyv1.Probe          // whether a place holds anything to import
	PathRule         = historyv1.PathRule       // the route of an explicit path
	CurrentSession   = historyv1.CurrentSession // recognises the session that runs ctx
	EnvMatch         = historyv1.EnvMatch
	ResumeCommand    = historyv1.ResumeCommand // an argv that ctx shows, and runs when the user asks
	ProviderLimits   = historyv1.Limits        // the provider's own bounds; 0 = the host's
	ResolveRequest   = historyv1.ResolveRequest
	ResolveResponse  = historyv1.ResolveResponse // at most 256 candidates and 64 issues
	Candidate        = historyv1.Candidate       // a place where history may lie
	Issue            = historyv1.Issue           // why a place could not be resolved
)

// Values of a description.
const (
	JSONLTranscript = historyv1.Family_FAMILY_JSONL_TRANSCRIPT // append-only JSON Lines
	SQLiteMessages  = historyv1.Family_FAMILY_SQLITE_MESSAGES  // a table of messages
	SQLiteEncoded   = historyv1.Family_FAMILY_SQLITE_ENCODED   // blobs in a database
	JSONDocument    = historyv1.Family_FAMILY_JSON_DOCUMENT    // one document a session, rewritten whole
	EventLog        = historyv1.Family_FAMILY_EVENT_LOG        // many small immutable files

	ImportNative      = historyv1.ImportSupport_IMPORT_SUPPORT_NATIVE      // by discovery
	ImportExplicit    = historyv1.ImportSupport_IMPORT_SUPPORT_EXPLICIT    // only when the user names it
	ImportUnsupported = historyv1.ImportSupport_IMPORT_SUPPORT_UNSUPPORTED // never; only listed

	PathDirectory = historyv1.PathKind_PATH_KIND_DIRECTORY
	PathFile      = historyv1.PathKind_PATH_KIND_FILE

	HomeDir      = historyv1.Base_BASE_HOME
	ConfigDir    = historyv1.Base_BASE_CONFIG     // XDG config, Library/Application Support, Roaming
	DataDir      = historyv1.Base_BASE_DATA       // XDG data, Library/Application Support, Local
	StateDir     = historyv1.Base_BASE_STATE      // XDG state
	LocalDataDir = historyv1.Base_BASE_LOCAL_DATA // Local on Windows, else as DataDir
	RoamingDir   = historyv1.Base_BASE_ROAMING    // Roaming on Windows
	WorkingDir   = historyv1.Base_BASE_CWD

	Linux     = historyv1.Platform_PLATFORM_LINUX
	MacOS     = historyv1.Platform_PLATFORM_MACOS
	Windows   = historyv1.Platform_PLATFORM_WINDOWS
	OtherUnix = historyv1.Platform_PLATFORM_OTHER_UNIX

	DefaultLocation  = historyv1.Location_MODE_DEFAULT  // used when no override applies
	OverrideLocation = historyv1.Location_MODE_OVERRIDE // applies when Env is set; suppresses the default even when it is unusable
	BesideLocation   = historyv1.Location_MODE_BESIDE   // joins the default when it exists and is another directory
	LegacyLocation   = historyv1.Location_MODE_LEGACY   // used only when the default is proven missing

	RefuseRelative = historyv1.Location_RELATIVE_REFUSE // a relative value is reported, nothing is read
	FromWorkingDir = historyv1.Location_RELATIVE_CWD
	FromBase       = historyv1.Location_RELATIVE_BASE
)

// Codes of an Issue.
const (
	IssueNoDiskHistory = "no_disk_history"                // the agent is set up to store nothing on disk
	IssueSelector      = "selector_unreconstructible"     // the place in effect cannot be found out safely
	IssueNoEvidence    = "insufficient_official_evidence" // no place is established
)

// complete fills in what an author may leave out.
func complete(d *DescribeResponse) {
	d.SdkVersion = Version
	d.CliName = cmp.Or(d.CliName, strings.ReplaceAll(d.Id, "_", "-"))
	d.DisplayName = cmp.Or(d.DisplayName, d.CliName)
	for _, f := range d.Formats {
		f.Leaf, f.ParserRevision = cmp.Or(f.Leaf, f.Name), cmp.Or(f.ParserRevision, d.ParserRevision)
		f.IdentityVersion = max(f.IdentityVersion, 1)
	}
	for _, l := range d.Locations {
		l.Slot = cmp.Or(l.Slot, l.Role)
	}
	if d.Root != nil {
		d.Root.Expander = cmp.Or(d.Root.Expander, "exact_source")
	}
}

// ValidateDescription reports what is wrong with a complete description, or missing in it; all of it.
func ValidateDescription(d *DescribeResponse) error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(d.Id == "" || len(d.Id) > MaxProviderID || strings.Trim(d.Id, "abcdefghijklmnopqrstuvwxyz0123456789_") != "",
		"id %q: want 1 to %d lower case letters, digits and '_'", d.Id, MaxProviderID)
	wrong(d.CliName == "" || d.DisplayName == "", "no CLI name or display name")
	wrong(d.ParserRevision == "", "no parser revision")
	wrong(len(d.Formats) == 0, "no format")
	formats := map[string]bool{}
	for _, f := range d.Formats {
		wrong(formats[f.Name], "format %q twice", f.Name)
		formats[f.Name] = true
		for _, label := range []string{f.Name, f.Leaf, f.SchemaVariant} {
			err := validLabel("name, leaf or schema variant", label)
			wrong(err != nil, "format %q: %w", f.Name, err)
		}
		wrong(f.IdentityVersion == 0 || f.Family == 0, "format %q without identity version or family", f.Name)
	}
	for i, l := range d.Locations {
		err := validLocation(l, formats)
		wrong(err != nil, "location %d: %w", i, err)
	}
	for _, c := range d.Root.GetChildren() {
		wrong(!formats[c.Format] || c.Role == "", "root child %q: unknown format or no role", c.Suffix)
	}
	wrong(d.Root != nil && d.Root.PathKind == 0, "a root is a directory or a file")
	wrong(d.CurrentSession != nil && d.CurrentSession.SessionEnv == "", "current session without a variable")
	wrong(d.Resume != nil && len(d.Resume.Argv) == 0, "empty resume command")
	wrong(d.NoKnownLocation && len(d.Locations) > 0, "locations are declared and there is no known location")
	wrong(!d.NoKnownLocation && !d.Resolves && len(d.Locations) == 0,
		"neither a location, nor Resolve, nor the statement that none is known")
	return errors.Join(errs...)
}

func validLocation(l *Location, formats map[string]bool) error {
	switch {
	case !formats[l.Format]:
		return fmt.Errorf("unknown format %q", l.Format)
	case l.Role == "":
		return errors.New("no role")
	case l.Env == "" && l.Base == 0:
		return errors.New("neither variable nor base")
	case l.Mode == OverrideLocation && l.Env == "":
		return errors.New("an override needs a variable")
	case l.Relative == FromBase && l.Base == 0:
		return errors.New("relative to no base")
	case !ValidLocator(strings.TrimSuffix(l.Suffix, "/")):
		return fmt.Errorf("suffix %q", l.Suffix)
	}
	return nil
}
