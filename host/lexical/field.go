package lexical

import "crypto/sha256"

// Field is an indexed field: Body holds the tokens of the search projection, every other field holds whole values.
type Field uint8

const (
	Body Field = iota
	EventType
	Role
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
	fieldCount
)

// fieldNames are the names stored in segments. They may be extended, never renamed.
var fieldNames = [fieldCount]string{
	Body:                    "body",
	EventType:               "event_type",
	Role:                    "role",
	FactSessionCWD:          "fact.session_cwd",
	FactToolWorkdir:         "fact.tool_workdir",
	FactFile:                "fact.file",
	FactURL:                 "fact.url",
	FactForge:               "fact.forge",
	FactProject:             "fact.project",
	FactVCS:                 "fact.vcs",
	FactCommit:              "fact.commit",
	FactPullRequest:         "fact.pull_request",
	FactCommand:             "fact.command",
	FactBranch:              "fact.branch",
	FactWorkspace:           "fact.workspace",
	FactProviderDisposition: "fact.provider_disposition",
}

// String returns the stored name of the field.
func (f Field) String() string {
	if f >= fieldCount {
		return "unknown"
	}
	return fieldNames[f]
}

// FactField returns the field of a fact kind as named in activity records ("file", "session_cwd" ...).
func FactField(kind string) (Field, bool) {
	for f := FactSessionCWD; f < fieldCount; f++ {
		if fieldNames[f][len("fact."):] == kind {
			return f, true
		}
	}
	return 0, false
}

// Values of fields that only serve exact lookups are cut to a prefix and a digest when long: a command of 60 KiB would otherwise take as
// much room in the dictionary again. The fields of the workspace and file filters keep their values, since those match substrings.
const (
	wholeKeyBytes  = 160
	prefixKeyBytes = 120
)

func (f Field) keepsWhole() bool {
	switch f {
	case FactFile, FactSessionCWD, FactToolWorkdir, FactProject, FactWorkspace:
		return true
	}
	return false
}

// key returns the dictionary key of a value: the value, or for long ones its beginning, a zero byte and half of its SHA-256.
func (f Field) key(value []byte) []byte {
	if len(value) <= wholeKeyBytes || f.keepsWhole() {
		return value
	}
	digest := sha256.Sum256(value)
	key := append(make([]byte, 0, wholeKeyBytes), value[:prefixKeyBytes]...)
	key = append(key, 0)
	return append(key, digest[:sha256.Size/2]...)
}
