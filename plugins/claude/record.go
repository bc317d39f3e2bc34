package claude

import (
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

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

// Longest raw JSON text of checked fields.
const (
	maxField  = 4 << 10
	maxCallID = 64 << 10
)

// record is the envelope of one record: the members that all kinds of records are asked for, each the last one of its name.
type record struct {
	root   canonical.Value
	family family

	typ, uuid, parentUUID, sessionID, timestamp, role canonical.Value
	cwd, branch, version, entrypoint, summary         canonical.Value
	message, content                                  canonical.Value
	messageID, messageRole, model, messageContent     canonical.Value
	toolUseResult, forkedFrom, origin                 canonical.Value
	sidechain, meta, compactSummary, apiError         bool
}

// read takes the envelope from an object and checks the types of its fields. A defect is the reason to reject the record.
func (r *record) read(root canonical.Value) (defect string) {
	*r = record{root: root}
	for key, v := range root.Each {
		if at := r.place(key); at != nil {
			*at = v
			continue
		}
		switch string(key) {
		case "isSidechain":
			r.sidechain, _ = v.Bool()
		case "isMeta":
			r.meta, _ = v.Bool()
		case "isCompactSummary":
			r.compactSummary, _ = v.Bool()
		case "isApiErrorMessage":
			r.apiError, _ = v.Bool()
		}
	}
	for _, optional := range [...]*canonical.Value{&r.cwd, &r.branch, &r.version, &r.parentUUID} {
		if !fits(*optional, maxField) {
			*optional = canonical.Value{}
		}
	}
	switch {
	case r.timestamp.Kind() != canonical.Number && !fits(r.timestamp, maxField):
		return "timestamp is no short string or number"
	case !r.message.IsNull() && !r.message.IsObject():
		return "message is no object"
	case !r.summary.IsNull() && !r.summary.IsString():
		return "summary is no string"
	}
	var messageType canonical.Value
	for key, v := range r.message.Each {
		switch string(key) {
		case "id":
			r.messageID = v
		case "type":
			messageType = v
		case "role":
			r.messageRole = v
		case "model":
			r.model = v
		case "content":
			r.messageContent = v
		}
	}
	for _, field := range [...]struct {
		v    canonical.Value
		name string
	}{
		{r.typ, "type"}, {r.uuid, "uuid"}, {r.sessionID, "sessionId"}, {r.role, "role"},
		{r.messageID, "message.id"}, {messageType, "message.type"}, {r.messageRole, "message.role"},
	} {
		if !fits(field.v, maxField) {
			return field.name + " is no short string"
		}
	}
	// Without a type and without the role of a speaker it is an unknown one.
	if role := string(r.nativeRole()); !r.typ.IsNull() {
		r.family = families[string(r.typ.Str())]
	} else if role == "user" || role == "assistant" {
		r.family = untyped
	}
	return ""
}

// place returns where a member of a record is kept, nil for one that is not.
func (r *record) place(key []byte) *canonical.Value {
	switch string(key) {
	case "type":
		return &r.typ
	case "uuid":
		return &r.uuid
	case "parentUuid":
		return &r.parentUUID
	case "sessionId":
		return &r.sessionID
	case "timestamp":
		return &r.timestamp
	case "role":
		return &r.role
	case "cwd":
		return &r.cwd
	case "gitBranch":
		return &r.branch
	case "version":
		return &r.version
	case "entrypoint":
		return &r.entrypoint
	case "summary":
		return &r.summary
	case "message":
		return &r.message
	case "content":
		return &r.content
	case "toolUseResult":
		return &r.toolUseResult
	case "forkedFrom":
		return &r.forkedFrom
	case "origin":
		return &r.origin
	}
	return nil
}

// fits tells whether v is absent, null or a string of at most limit bytes as it stands in the file.
func fits(v canonical.Value, limit int) bool {
	return v.IsNull() || v.IsString() && len(v.Raw()) <= limit
}

// text returns what a person or model wrote in the record: the content of its message, or its own content.
func (r *record) text() canonical.Value {
	if !r.messageContent.IsNull() {
		return r.messageContent
	}
	return r.content
}

// nativeRole returns the role before any reclassification; nil if the record has none.
func (r *record) nativeRole() []byte {
	for _, v := range [...]canonical.Value{r.messageRole, r.role} {
		if role := v.Str(); len(role) > 0 {
			return role
		}
	}
	if r.family == userRecord || r.family == assistantRecord {
		return r.typ.Str()
	}
	return nil
}

// originKind returns the kind of an origin: the value itself, or its member kind.
func originKind(origin canonical.Value) []byte {
	if origin.IsObject() {
		return origin.Get("kind").Str()
	}
	return origin.Str()
}

// known tells whether an object found in a damaged line is a record.
func known(v canonical.Value) bool {
	f := families[string(v.Get("type").Str())]
	switch f {
	case unknownFamily, foreignRecord, oldBoundary:
		return false
	case userRecord, assistantRecord, systemRecord, attachmentRecord:
		return v.Get("sessionId").IsString()
	}
	return true
}

// instant returns the time of a record: RFC 3339 text, also with a space in place of the T, or a number of seconds or milliseconds.
// Everything else is no time.
func instant(v canonical.Value) (at sdkplugin.Instant) {
	if v.IsString() {
		t, ok := texts.ParseTime(v.Str())
		return sdkplugin.Instant{Millis: t.UnixMilli(), Known: ok}
	}
	at.Millis, at.Known = texts.Epoch(v)
	return at
}
