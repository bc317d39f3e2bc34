package claude

import "strings"

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
var families = familyTable(map[family]string{
	userRecord: "user", assistantRecord: "assistant", systemRecord: "system", attachmentRecord: "attachment",
	progressRecord: "progress", summaryRecord: "summary", prLinkRecord: "pr-link", oldBoundary: "compact_boundary",
	foreignRecord: "message tool_use tool_result",
	stateRecord: `queue-operation file-history-snapshot file-history-delta attribution-snapshot custom-title ai-title agent-name
		agent-color agent-setting tag last-prompt mode permission-mode worktree-state relocated content-replacement
		marble-origami-commit marble-origami-snapshot cost-state atis-latch isolation-latch bridge-session frame-link
		teleported-from artifact-comment-monitor artifact-autoreact-ledger ended conversation_reset speculation-accept started
		result`,
})

func familyTable(types map[family]string) map[string]family {
	table := map[string]family{}
	for f, names := range types {
		for name := range strings.FieldsSeq(names) {
			table[name] = f
		}
	}
	return table
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
	return f < attachmentRecord || f > stateRecord
}
