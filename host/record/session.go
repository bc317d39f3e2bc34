package record

// Session is what all events of a session share. It is stored once, under its ordinal.
type Session struct {
	Ordinal                     uint32
	ID, Source, Descriptor      Digest
	Provider                    string
	SourceFormat, SchemaVariant string
	IdentityVersion             uint32
	Anchor                      []byte // of the source, binary
	Key                         []byte // native session key, binary
	Kind                        string // logical session kind
	ProviderSessionID           string // empty = unknown
	Parent, Root                *Digest
	Relationship                Relationship
	Scope                       Scope
	ParserRevision              string
	Meta                        SessionMeta
}

// SessionMeta is what is known of a session beside its records. It is part of no id and of no event.
type SessionMeta struct {
	Title                string   // one line
	Model                string   // newest
	Models               []string // all, in order
	AgentName            string
	CWD                  string
	WorkspaceLabel       string // encoded directory name, a guess; used only without CWD
	Branch, LastBranch   string
	Version, LastVersion string
	Entrypoint           string
	LastEntrypoint       string
	StartedAt, EndedAt   *int64 // Unix milliseconds
	ApproximateTimes     bool   // taken from file times
}
