package record

import "slices"

// Types of events that ctx knows. The vocabulary is open: any other string is stored and emitted unchanged.
const (
	Message         = "message"
	ToolCall        = "tool_call"
	ToolOutput      = "tool_output"
	CommandStarted  = "command_started"
	CommandOutput   = "command_output"
	CommandFinished = "command_finished"
	Artifact        = "artifact"
	Summary         = "summary"
	Notice          = "notice"
	FileTouched     = "file_touched"
	VCSChange       = "vcs_change"
)

// typeNames is indexed by type code. Codes are part of the storage form: append only.
var typeNames = [...]string{
	"", Message, ToolCall, ToolOutput, CommandStarted, CommandOutput, CommandFinished, Artifact, Summary, Notice, FileTouched, VCSChange,
}

// Codes of the event types, for columns and weights. TypeOther stands for every type that has no code.
const (
	TypeOther uint8 = iota
	TypeMessage
	TypeToolCall
	TypeToolOutput
	TypeCommandStarted
	TypeCommandOutput
	TypeCommandFinished
	TypeArtifact
	TypeSummary
	TypeNotice
	TypeFileTouched
	TypeVCSChange
)

// TypeCode returns the code of an event type, TypeOther if it has none.
func TypeCode(name string) uint8 { return codeOf(typeNames[:], name) }

// SearchableTypes are the event types that a search can be limited to.
func SearchableTypes() []string { return slices.Clone(typeNames[TypeMessage : TypeNotice+1]) }

// Roles.
const (
	User          = "user"
	Assistant     = "assistant"
	System        = "system"
	Tool          = "tool"
	RoleIsUnknown = "unknown"
)

var roleNames = [...]string{"", User, Assistant, System, Tool, RoleIsUnknown}

// Codes of the roles, for columns. RoleNone stands for an event without a role, RoleOther for a role without a code.
const (
	RoleNone uint8 = iota
	RoleUser
	RoleAssistant
	RoleSystem
	RoleTool
	RoleUnknown
	RoleOther uint8 = 255
)

// RoleCode returns the code of a role.
func RoleCode(role string) uint8 {
	if c := codeOf(roleNames[:], role); c != 0 || role == "" {
		return c
	}
	return RoleOther
}

// Scope tells whether an event belongs to the agent a person talked to or to one that it started.
type Scope uint8

// Scopes. The zero value is unknown.
const (
	ScopeUnknown Scope = iota
	ScopePrimary
	ScopeSubagent
)

var scopeNames = [...]string{"", "primary", "subagent"}

// String returns primary, subagent or "".
func (s Scope) String() string { return name(scopeNames[:], uint8(s)) }

// ParseScope returns the scope of a name; ok is false for an unknown one.
func ParseScope(text string) (s Scope, ok bool) {
	c := codeOf(scopeNames[:], text)
	return Scope(c), c != 0
}

// Relationship is what a provider says about a session and its parent.
type Relationship uint8

// Relationships. The zero value is unknown.
const (
	RelationshipUnknown Relationship = iota
	RelationshipRoot
	RelationshipDelegated
	RelationshipForked
	RelationshipResumedFrom
	RelationshipWorkflowChild
)

var relationshipNames = [...]string{"", "root", "delegated", "forked", "resumed_from", "workflow_child"}

// String returns the name of the relationship, "" when unknown.
func (r Relationship) String() string { return name(relationshipNames[:], uint8(r)) }

// Proof says why an event counts as a copy of another.
type Proof uint8

// Proofs. The zero value is no proof and never stored.
const (
	ProofNone Proof = iota
	ProofNativeEventIdentity
	ProofNativeCopiedFromField
	ProofNativeCallResultIdentity
	ProofCertifiedOrderedPrefix
)

var proofNames = [...]string{"", "native_event_identity", "native_copied_from_field", "native_call_result_identity", "certified_ordered_prefix"}

// String returns the name of the proof.
func (p Proof) String() string { return name(proofNames[:], uint8(p)) }

// FactKind is the kind of a fact.
type FactKind uint8

// Kinds of facts, in the order of their codes.
const (
	FactNone FactKind = iota
	FactSessionCWD
	FactToolWorkdir
	FactFile
	FactURL
	FactForge
	FactProject
	FactVCS
	FactCommit
	FactPullRequest
	FactCommand
	FactBranch
	FactWorkspace
	FactProviderDisposition
	factKinds // their number
)

var factNames = [factKinds]string{
	"", "session_cwd", "tool_workdir", "file", "url", "forge", "project", "vcs", "commit", "pull_request", "command", "branch",
	"workspace", "provider_disposition",
}

// String returns the name of the kind, "" for an unknown one.
func (k FactKind) String() string { return name(factNames[:], uint8(k)) }

// FactKinds returns all kinds.
func FactKinds() []FactKind {
	kinds := make([]FactKind, 0, factKinds-1)
	for k := FactNone + 1; k < factKinds; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// CaptureStatus says what is known of a captured value.
type CaptureStatus uint8

// States of a capture. CaptureNormalizedBody belongs to result text only: the text is the body of the event.
const (
	CaptureAbsent CaptureStatus = iota
	CapturePresent
	CaptureUnavailable
	CaptureOmitted
	CaptureNormalizedBody
	captureStates // their number
)

var captureNames = [captureStates]string{"absent", "present", "unavailable", "omitted", "normalized_body"}

// String returns the name of the state.
func (c CaptureStatus) String() string { return name(captureNames[:], uint8(c)) }

// PolicyStatus says whether the content of an event was selected for storage.
type PolicyStatus uint8

// Policy states. Redacted and omitted ones carry a reason.
const (
	PolicySelected PolicyStatus = iota
	PolicyRedacted
	PolicyOmitted
	policyStates // their number
)

var policyNames = [policyStates]string{"selected", "redacted", "omitted"}

// String returns the name of the state.
func (p PolicyStatus) String() string { return name(policyNames[:], uint8(p)) }

// ContentProjection says how much of an event a range row holds.
type ContentProjection uint8

// Projections of the content of a row.
const (
	ContentFull ContentProjection = iota
	ContentText                   // no structured content, no activity
	ContentNone                   // no text either
)

var contentNames = [...]string{"full", "text", "none"}

// String returns full, text or none.
func (c ContentProjection) String() string { return name(contentNames[:], uint8(c)) }

// ParseContentProjection returns the projection of a name.
func ParseContentProjection(text string) (c ContentProjection, ok bool) {
	at := slices.Index(contentNames[:], text)
	return ContentProjection(at), at >= 0
}

// ContentScope is the class of events that a search looks at.
type ContentScope uint8

// Content scopes.
const (
	ScopeAll ContentScope = iota
	ScopeTranscript
	ScopeCalls
	ScopeOutputs
)

var contentScopeNames = [...]string{"all", "transcript", "calls", "outputs"}

// String returns all, transcript, calls or outputs.
func (s ContentScope) String() string { return name(contentScopeNames[:], uint8(s)) }

// ParseContentScope returns the scope of a name.
func ParseContentScope(text string) (s ContentScope, ok bool) {
	at := slices.Index(contentScopeNames[:], text)
	return ContentScope(at), at >= 0
}

// weights holds the factor of every event type in each scope; zero keeps a type out of it.
var weights = func() (w [4][256]float32) {
	for typ := range w[ScopeAll] {
		w[ScopeAll][typ] = 0.8
	}
	for typ, factors := range map[uint8][4]float32{ // all, transcript, calls, outputs
		TypeMessage:         {1, 1, 0, 0},
		TypeSummary:         {0.9, 0.9, 0, 0},
		TypeToolCall:        {0.8, 0, 1, 0},
		TypeCommandStarted:  {0.8, 0, 1, 0},
		TypeToolOutput:      {0.6, 0, 0, 1},
		TypeCommandOutput:   {0.6, 0, 0, 1},
		TypeCommandFinished: {0.6, 0, 0, 1},
	} {
		for scope, factor := range factors {
			w[scope][typ] = factor
		}
	}
	return w
}()

// Weights returns the factors on the scores of all types by code, 0 for a type outside of the scope. The array is shared and must
// not be changed.
func Weights(scope ContentScope) *[256]float32 { return &weights[scope] }

// codeOf returns the index of text in names, 0 (an empty name) when it is not there. The lists are short: a linear search beats a map.
func codeOf(names []string, text string) uint8 { return uint8(max(slices.Index(names, text), 0)) }

func name(names []string, c uint8) string {
	if int(c) >= len(names) {
		return ""
	}
	return names[c]
}
