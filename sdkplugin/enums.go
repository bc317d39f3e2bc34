package sdkplugin

import (
	"time"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Enumerations are those of the wire.
type (
	Scope         = historyv1.Scope        // tells the agent a person talks to from the agents that one starts
	Relationship  = historyv1.Relationship // of a session to its parent, as the agent's data states it
	Proof         = historyv1.Proof        // of a CopyClaim
	CaptureStatus = historyv1.Capture_Status
	PolicyStatus  = historyv1.Policy_Status
	FactKind      = historyv1.FactKind
	Mode          = historyv1.Mode           // of a scan
	RouteState    = historyv1.RouteEnd_State // result of listing one route
	Severity      = historyv1.Diagnostic_Severity
)

const (
	ScopeUnknown  = historyv1.Scope_SCOPE_UNSPECIFIED
	ScopePrimary  = historyv1.Scope_SCOPE_PRIMARY
	ScopeSubagent = historyv1.Scope_SCOPE_SUBAGENT

	RelationshipUnknown       = historyv1.Relationship_RELATIONSHIP_UNSPECIFIED
	RelationshipRoot          = historyv1.Relationship_RELATIONSHIP_ROOT
	RelationshipDelegated     = historyv1.Relationship_RELATIONSHIP_DELEGATED
	RelationshipForked        = historyv1.Relationship_RELATIONSHIP_FORKED
	RelationshipResumedFrom   = historyv1.Relationship_RELATIONSHIP_RESUMED_FROM
	RelationshipWorkflowChild = historyv1.Relationship_RELATIONSHIP_WORKFLOW_CHILD

	ProofNativeEventIdentity    = historyv1.Proof_PROOF_NATIVE_EVENT_IDENTITY       // the same native event id
	ProofNativeCopiedFrom       = historyv1.Proof_PROOF_NATIVE_COPIED_FROM_FIELD    // a field that names the original
	ProofNativeCallResult       = historyv1.Proof_PROOF_NATIVE_CALL_RESULT_IDENTITY // the same unique call id
	ProofCertifiedOrderedPrefix = historyv1.Proof_PROOF_CERTIFIED_ORDERED_PREFIX    // an inherited prefix, equal in order

	CaptureAbsent      = historyv1.Capture_STATUS_ABSENT
	CapturePresent     = historyv1.Capture_STATUS_PRESENT
	CaptureUnavailable = historyv1.Capture_STATUS_UNAVAILABLE
	CaptureOmitted     = historyv1.Capture_STATUS_OMITTED
	CaptureSameAsBody  = historyv1.Capture_STATUS_NORMALIZED_BODY // Result.Text only

	Selected       = historyv1.Policy_STATUS_SELECTED
	Redacted       = historyv1.Policy_STATUS_REDACTED
	OmittedContent = historyv1.Policy_STATUS_OMITTED // the event has neither body nor structured content nor activity

	FactSessionCWD          = historyv1.FactKind_FACT_KIND_SESSION_CWD  // directory of the session
	FactToolWorkdir         = historyv1.FactKind_FACT_KIND_TOOL_WORKDIR // directory of one tool call
	FactFile                = historyv1.FactKind_FACT_KIND_FILE         // a file the event names
	FactURL                 = historyv1.FactKind_FACT_KIND_URL
	FactForge               = historyv1.FactKind_FACT_KIND_FORGE   // a code hosting service
	FactProject             = historyv1.FactKind_FACT_KIND_PROJECT // a project or repository name
	FactVCS                 = historyv1.FactKind_FACT_KIND_VCS     // a version control system
	FactCommit              = historyv1.FactKind_FACT_KIND_COMMIT
	FactPullRequest         = historyv1.FactKind_FACT_KIND_PULL_REQUEST
	FactCommand             = historyv1.FactKind_FACT_KIND_COMMAND
	FactBranch              = historyv1.FactKind_FACT_KIND_BRANCH
	FactWorkspace           = historyv1.FactKind_FACT_KIND_WORKSPACE
	FactProviderDisposition = historyv1.FactKind_FACT_KIND_PROVIDER_DISPOSITION // the provider's own judgement of the event

	ModeFull   = historyv1.Mode_MODE_FULL   // the whole source
	ModeAppend = historyv1.Mode_MODE_APPEND // only what was added behind the certified prefix

	RouteComplete   = historyv1.RouteEnd_STATE_COMPLETE   // every source below it was given
	RouteIncomplete = historyv1.RouteEnd_STATE_INCOMPLETE // a bound was hit or a directory could not be read
	RouteMissing    = historyv1.RouteEnd_STATE_MISSING    // it is proven not to exist
	RouteUnreadable = historyv1.RouteEnd_STATE_UNREADABLE // it cannot be read at all

	SeverityError   = historyv1.Diagnostic_SEVERITY_ERROR
	SeverityWarning = historyv1.Diagnostic_SEVERITY_WARNING
	SeverityInfo    = historyv1.Diagnostic_SEVERITY_INFO
)

// Limits of the contract. The host enforces every one of them; the SDK refuses what would be refused there, so that a mistake
// names its event.
const (
	MaxProviderID   = 128              // bytes of a provider id
	MaxLabel        = 256              // bytes of a namespace, kind, format or schema variant
	MaxTypedKey     = 64 << 10         // encoded bytes of one typed key
	MaxComponents   = 256              // items of a list or composite
	MaxKeyDepth     = 128              // nested lists
	MaxString       = 64 << 10         // bytes of a metadata string, a fact value, a call id
	MaxFileFact     = 16 << 10         // bytes of a fact of kind file
	MaxFacts        = 4096             // facts of one event
	MaxEventContent = 16 << 20         // bytes of body, structured content and activity together
	MaxEventsRecord = 65536            // events of one native record
	MaxObservation  = 4 << 10          // bytes of an observation token
	MaxLocator      = jsonl.MaxLocator // bytes of a locator
	MaxFrontier     = 64 << 10         // bytes of a frontier
	MaxMessage      = 512              // bytes of a diagnostic, issue or failure message
	MaxRejections   = 64               // rejections of one scan that travel; all are counted
	MaxDiagnostics  = 64               // diagnostics of one inventory or scan
	MaxSources      = 131072           // sources of one inventory
	MaxWireMessage  = 64 << 20         // bytes of one gRPC message
	maxWireEvent    = MaxWireMessage - (4 << 20)
	flushBytes      = 512 << 10 // a batch is sent when it has grown to this
	flushAfter      = 200 * time.Millisecond
	sourcesMessage  = 512 // sources of one inventory message
)
