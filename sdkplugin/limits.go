package sdkplugin

import (
	"time"

	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Limits of the contract. The host enforces every one of them; the SDK refuses
// what would be refused there, so that a mistake names its event.
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
