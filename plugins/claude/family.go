package claude

// family says what kind of record a record type is.
type family uint8

const (
	unknownFamily family = iota // no known type: a notice if it carries text
	untyped                     // no type at all: a message if it has a role
	userRecord
	assistantRecord
	systemRecord
	attachmentRecord
	progressRecord
	summaryRecord
	prLinkRecord
	stateRecord   // bookkeeping without text of its own
	foreignRecord // written by other exporters or very old builds: treated like unknown ones
	oldBoundary   // a compaction border as a record type
)

// families holds every record type with a meaning of its own.
var families = map[string]family{
	"user":       userRecord,
	"assistant":  assistantRecord,
	"system":     systemRecord,
	"attachment": attachmentRecord,
	"progress":   progressRecord,
	"summary":    summaryRecord,
	"pr-link":    prLinkRecord,

	"queue-operation":           stateRecord,
	"file-history-snapshot":     stateRecord,
	"file-history-delta":        stateRecord,
	"attribution-snapshot":      stateRecord,
	"custom-title":              stateRecord,
	"ai-title":                  stateRecord,
	"agent-name":                stateRecord,
	"agent-color":               stateRecord,
	"agent-setting":             stateRecord,
	"tag":                       stateRecord,
	"last-prompt":               stateRecord,
	"mode":                      stateRecord,
	"permission-mode":           stateRecord,
	"worktree-state":            stateRecord,
	"relocated":                 stateRecord,
	"content-replacement":       stateRecord,
	"marble-origami-commit":     stateRecord,
	"marble-origami-snapshot":   stateRecord,
	"cost-state":                stateRecord,
	"atis-latch":                stateRecord,
	"isolation-latch":           stateRecord,
	"bridge-session":            stateRecord,
	"frame-link":                stateRecord,
	"teleported-from":           stateRecord,
	"artifact-comment-monitor":  stateRecord,
	"artifact-autoreact-ledger": stateRecord,
	"ended":                     stateRecord,
	"conversation_reset":        stateRecord,
	"speculation-accept":        stateRecord,
	"started":                   stateRecord,
	"result":                    stateRecord,

	"message":          foreignRecord,
	"tool_use":         foreignRecord,
	"tool_result":      foreignRecord,
	"compact_boundary": oldBoundary,
}

// chain tells whether records of the family carry the conversation.
func (f family) chain() bool { return f >= userRecord && f <= progressRecord }

// keyedByContent tells whether the id of an event is made from its content even if the record has a uuid.
func (f family) keyedByContent() bool {
	return f == summaryRecord || f == prLinkRecord || f == stateRecord
}

// checked tells whether a block of a wrong form rejects the record. In records of other types it is merely not text.
func (f family) checked() bool {
	return f == userRecord || f == assistantRecord || f == untyped
}

// outlined tells whether the content of the record is looked at.
func (f family) outlined() bool {
	switch f {
	case attachmentRecord, progressRecord, summaryRecord, prLinkRecord, stateRecord:
		return false
	}
	return true
}
