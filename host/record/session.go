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
	Title            string   `json:"title,omitempty"`  // one line
	Model            string   `json:"model,omitempty"`  // newest
	Models           []string `json:"models,omitempty"` // all, in order
	AgentName        string   `json:"agent_name,omitempty"`
	CWD              string   `json:"cwd,omitempty"`
	WorkspaceLabel   string   `json:"workspace_label,omitempty"` // encoded directory name, a guess; used only without CWD
	Branch           string   `json:"branch,omitempty"`
	LastBranch       string   `json:"last_branch,omitempty"`
	Version          string   `json:"version,omitempty"`
	LastVersion      string   `json:"last_version,omitempty"`
	Entrypoint       string   `json:"entrypoint,omitempty"`
	LastEntrypoint   string   `json:"last_entrypoint,omitempty"`
	StartedAt        *int64   `json:"started_at_unix_ms,omitempty"`
	EndedAt          *int64   `json:"ended_at_unix_ms,omitempty"`
	ApproximateTimes bool     `json:"approximate_times,omitempty"` // taken from file times
}
