package status

// Snapshot is the smaller report of the index command, schema 1. Members that are unknown are left out.
type Snapshot struct {
	SchemaVersion int              `json:"schema_version"`
	Initialized   bool             `json:"initialized"`
	Indexing      Indexing         `json:"indexing"`
	Lexical       SnapshotLexical  `json:"lexical"`
	Refresh       Refresh          `json:"refresh"`
	Semantic      SnapshotSemantic `json:"semantic"`
	Daemon        SnapshotDaemon   `json:"daemon"`
	LocalOnly     bool             `json:"local_only"`
	ReadOnly      bool             `json:"read_only"`
}

// SnapshotLexical is the text index in a snapshot.
type SnapshotLexical struct {
	Status               string  `json:"status"`
	Reason               string  `json:"reason,omitempty"`
	GenerationID         string  `json:"generation_id,omitempty"`
	IndexedItems         *uint64 `json:"indexed_items,omitempty"`
	IndexedSessions      *uint64 `json:"indexed_sessions,omitempty"`
	IndexedEvents        *uint64 `json:"indexed_events,omitempty"`
	IndexedSources       *uint64 `json:"indexed_sources,omitempty"`
	CertifiedSourceBytes *uint64 `json:"certified_source_bytes,omitempty"`
}

// SnapshotSemantic is semantic search in a snapshot. Nothing has vectors yet, so the coverage has no members.
type SnapshotSemantic struct {
	Status   string   `json:"status"`
	Reason   string   `json:"reason,omitempty"`
	Enabled  bool     `json:"enabled"`
	Coverage struct{} `json:"coverage"`
}

// SnapshotDaemon is the background process in a snapshot.
type SnapshotDaemon struct {
	Status  string       `json:"status"`
	Running bool         `json:"running"`
	Jobs    SnapshotJobs `json:"jobs"`
}

// SnapshotJobs are the jobs of a snapshot.
type SnapshotJobs struct {
	SemanticIndex SemanticIndexJob `json:"semantic_index"`
}

// Snapshot returns the object of the index command.
func (r *Report) Snapshot() Snapshot {
	s := Snapshot{
		SchemaVersion: 1, Initialized: r.Initialized, Refresh: r.Refresh,
		Lexical: SnapshotLexical{
			Status: r.Lexical.Status, Reason: r.Lexical.Reason, GenerationID: r.Lexical.GenerationID,
			IndexedItems: r.IndexedItems, IndexedSessions: r.IndexedSessions, IndexedEvents: r.IndexedEvents,
			IndexedSources: r.IndexedSources, CertifiedSourceBytes: r.Lexical.CertifiedSourceBytes,
		},
		Semantic:  SnapshotSemantic{Status: r.Semantic.Status, Reason: r.Semantic.Reason, Enabled: r.Semantic.Enabled},
		Daemon:    SnapshotDaemon{Status: r.Daemon.Status, Running: r.Daemon.Running, Jobs: SnapshotJobs{r.Daemon.Jobs.SemanticIndex}},
		LocalOnly: true, ReadOnly: true,
	}
	f := &s.Refresh // what only the full report tells goes
	f.Outcome, f.SourceCount, f.ScannedRoutes, f.UnsupportedRoutes, f.TimingsMicros = "", nil, nil, nil, nil
	f.Trigger, f.LastError, f.SourceFailureTotal, f.RejectedRecordTotal = "", "", nil, nil
	if r.Indexing != nil {
		s.Indexing = *r.Indexing
	}
	return s
}
