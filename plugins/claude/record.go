package claude

import (
	"errors"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// Longest raw JSON text of checked fields.
const (
	maxField  = 4 << 10
	maxCallID = 64 << 10
)

// record is the envelope of one record: the members that anything looks at, each the last one of its name.
type record struct {
	root   canonical.Value
	family family

	typ, uuid, parentUUID, sessionID, timestamp, role canonical.Value
	cwd, branch, version, entrypoint                  canonical.Value
	message, content                                  canonical.Value
	messageID, messageRole, model, messageContent     canonical.Value
	toolUseResult, sourceToolUseID                    canonical.Value
	forkedFrom, origin                                canonical.Value
	sidechain, meta, compactSummary, apiError         bool

	// Members of single record types.
	subtype, attachment, compactMetadata, errorValue canonical.Value
	summary, leafUUID                                canonical.Value
	customTitle, aiTitle, relocatedCWD, worktree     canonical.Value
	prNumber, prURL, prRepository                    canonical.Value
}

// read takes the envelope from an object and checks the types of its fields. A defect is the reason to reject the record.
func (r *record) read(root canonical.Value) (defect string) {
	*r = record{root: root}
	for key, v := range root.Each {
		r.member(key, v)
	}
	if defect = r.check(); defect != "" {
		return defect
	}
	switch {
	case r.typ.IsNull():
		r.family = untyped
	default:
		r.family = families[string(r.typ.Str())]
	}
	if r.message.IsObject() {
		return r.readMessage()
	}
	return ""
}

func (r *record) member(key []byte, v canonical.Value) {
	switch string(key) {
	case "type":
		r.typ = v
	case "uuid":
		r.uuid = v
	case "parentUuid":
		r.parentUUID = v
	case "sessionId":
		r.sessionID = v
	case "timestamp":
		r.timestamp = v
	case "role":
		r.role = v
	case "cwd":
		r.cwd = v
	case "gitBranch":
		r.branch = v
	case "version":
		r.version = v
	case "entrypoint":
		r.entrypoint = v
	case "message":
		r.message = v
	case "content":
		r.content = v
	case "toolUseResult":
		r.toolUseResult = v
	case "sourceToolUseID":
		r.sourceToolUseID = v
	case "forkedFrom":
		r.forkedFrom = v
	case "origin":
		r.origin = v
	case "isSidechain":
		r.sidechain, _ = v.Bool()
	case "isMeta":
		r.meta, _ = v.Bool()
	case "isCompactSummary":
		r.compactSummary, _ = v.Bool()
	case "isApiErrorMessage":
		r.apiError, _ = v.Bool()
	default:
		r.rareMember(key, v)
	}
}

func (r *record) rareMember(key []byte, v canonical.Value) {
	switch string(key) {
	case "subtype":
		r.subtype = v
	case "attachment":
		r.attachment = v
	case "compactMetadata":
		r.compactMetadata = v
	case "error":
		r.errorValue = v
	case "summary":
		r.summary = v
	case "leafUuid":
		r.leafUUID = v
	case "customTitle":
		r.customTitle = v
	case "aiTitle":
		r.aiTitle = v
	case "relocatedCwd":
		r.relocatedCWD = v
	case "worktreeSession":
		r.worktree = v
	case "prNumber":
		r.prNumber = v
	case "prUrl":
		r.prURL = v
	case "prRepository":
		r.prRepository = v
	}
}

// check drops bad optional fields and names the first bad required one.
func (r *record) check() (defect string) {
	for _, optional := range []*canonical.Value{&r.cwd, &r.branch, &r.version, &r.parentUUID} {
		if !fits(*optional, maxField) {
			*optional = canonical.Value{}
		}
	}
	switch {
	case !fits(r.typ, maxField):
		return "type is no short string"
	case !fits(r.uuid, maxField):
		return "uuid is no short string"
	case !fits(r.sessionID, maxField):
		return "sessionId is no short string"
	case !fits(r.role, maxField):
		return "role is no short string"
	case r.timestamp.Kind() != canonical.Number && !fits(r.timestamp, maxField):
		return "timestamp is no short string or number"
	case !r.message.IsNull() && !r.message.IsObject():
		return "message is no object"
	case !r.summary.IsNull() && !r.summary.IsString():
		return "summary is no string"
	}
	return ""
}

func (r *record) readMessage() (defect string) {
	var typ canonical.Value
	for key, v := range r.message.Each {
		switch string(key) {
		case "id":
			r.messageID = v
		case "type":
			typ = v
		case "role":
			r.messageRole = v
		case "model":
			r.model = v
		case "content":
			r.messageContent = v
		}
	}
	switch {
	case !fits(r.messageID, maxField):
		return "message.id is no short string"
	case !fits(typ, maxField):
		return "message.type is no short string"
	case !fits(r.messageRole, maxField):
		return "message.role is no short string"
	}
	return ""
}

// settleFamily makes a record without a type and without the role of a speaker an unknown one.
func (r *record) settleFamily() {
	if r.family != untyped {
		return
	}
	switch string(r.nativeRole()) {
	case "user", "assistant":
	default:
		r.family = unknownFamily
	}
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
	switch {
	case len(r.messageRole.Str()) > 0:
		return r.messageRole.Str()
	case len(r.role.Str()) > 0:
		return r.role.Str()
	case r.family == userRecord || r.family == assistantRecord:
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

// notUTF8 tells whether a line was refused for its encoding.
func notUTF8(err error) bool {
	var fault *canonical.SyntaxError
	return errors.As(err, &fault) && fault.Code == canonical.NotUTF8
}

// recordsOf hands the records of one line to each: the object the line is, or the ones that a damaged line still holds. A
// defect is the reason to reject the whole line; torn is the offset in the line of the first byte that belongs to no record,
// -1 if there is none.
func recordsOf(doc *canonical.Doc, line []byte, each func(canonical.Value) error) (torn int, defect string, err error) {
	fault := doc.Parse(line)
	if fault == nil && doc.Root().IsObject() {
		return -1, "", each(doc.Root())
	}
	if notUTF8(fault) {
		return -1, "not UTF-8", nil
	}
	recovery, err := jsonl.Recover(doc, line, known, func(_ int, v canonical.Value) error { return each(v) })
	return recovery.Torn, "", err
}
