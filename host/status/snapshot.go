package status

// Snapshot is the smaller report of the index command, schema 1. Members that are unknown are left out.
type Snapshot struct {
	SchemaVersion int              `json:"schema_version"`
	Initialized   bool             `json:"initialized"`
	Indexing      Indexing         `json:"indexing"`
	Lexical       SnapshotLexical  `json:"lexical"`
	Refresh       SnapshotRefresh  `json:"refresh"`
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

// SnapshotRefresh is the last refresh in a snapshot.
type SnapshotRefresh struct {
	Status               string  `json:"status"`
	Reason               string  `json:"reason,omitempty"`
	RequestState         string  `json:"request_state,omitempty"`
	RequestID            string  `json:"request_id,omitempty"`
	LogicalRequestID     string  `json:"logical_request_id,omitempty"`
	LogicalPhase         string  `json:"logical_phase,omitempty"`
	PhysicalAttemptID    string  `json:"physical_attempt_id,omitempty"`
	PhysicalAttemptState string  `json:"physical_attempt_state,omitempty"`
	OwnerRequestID       string  `json:"progress_owner_request_id,omitempty"`
	OwnerAttemptState    string  `json:"progress_owner_attempt_state,omitempty"`
	StructuredOutcome    string  `json:"structured_outcome,omitempty"`
	PublishedGeneration  string  `json:"published_generation,omitempty"`
	GenerationID         string  `json:"generation_id,omitempty"`
	GenerationMatches    *bool   `json:"generation_matches,omitempty"`
	CertifiedSourceCount *uint64 `json:"certified_source_count,omitempty"`
	CertifiedSourceBytes *uint64 `json:"certified_source_bytes,omitempty"`
	Progress             any     `json:"progress,omitempty"`
}

// SnapshotSemantic is semantic search in a snapshot.
type SnapshotSemantic struct {
	Status   string           `json:"status"`
	Reason   string           `json:"reason,omitempty"`
	Enabled  bool             `json:"enabled"`
	Coverage SemanticCoverage `json:"coverage"`
}

// SemanticCoverage counts what has vectors.
type SemanticCoverage struct {
	CandidateItems  *uint64 `json:"candidate_items,omitempty"`
	SearchableItems *uint64 `json:"searchable_items,omitempty"`
	EmbeddedItems   *uint64 `json:"embedded_items,omitempty"`
	FilteredItems   *uint64 `json:"filtered_items,omitempty"`
	EmbeddedChunks  *uint64 `json:"embedded_chunks,omitempty"`
}

// SnapshotDaemon is the background process in a snapshot.
type SnapshotDaemon struct {
	Status  string       `json:"status"`
	Running bool         `json:"running"`
	Jobs    SnapshotJobs `json:"jobs"`
}

// SnapshotJobs are the jobs of a snapshot.
type SnapshotJobs struct {
	SemanticIndex *SemanticIndexJob `json:"semantic_index,omitempty"`
}

// Snapshot returns the object of the index command.
func (r *Report) Snapshot() Snapshot {
	matches := r.Refresh.GenerationMatches
	job := r.Daemon.Jobs.SemanticIndex
	s := Snapshot{
		SchemaVersion: 1, Initialized: r.Initialized,
		Lexical: SnapshotLexical{
			Status: r.Lexical.Status, Reason: r.Lexical.Reason, GenerationID: r.Lexical.GenerationID,
			IndexedItems: r.IndexedItems, IndexedSessions: r.IndexedSessions, IndexedEvents: r.IndexedEvents,
			IndexedSources: r.IndexedSources, CertifiedSourceBytes: r.Lexical.CertifiedSourceBytes,
		},
		Refresh: SnapshotRefresh{
			Status: r.Refresh.Status, Reason: r.Refresh.Reason, RequestState: r.Refresh.RequestState, RequestID: r.Refresh.RequestID,
			LogicalRequestID: r.Refresh.LogicalRequestID, LogicalPhase: r.Refresh.LogicalPhase,
			PhysicalAttemptID: r.Refresh.PhysicalAttemptID, PhysicalAttemptState: r.Refresh.PhysicalAttemptState,
			OwnerRequestID: r.Refresh.OwnerRequestID, OwnerAttemptState: r.Refresh.OwnerAttemptState,
			StructuredOutcome: r.Refresh.StructuredOutcome, PublishedGeneration: r.Refresh.PublishedGeneration,
			GenerationID: r.Refresh.GenerationID, GenerationMatches: &matches,
			CertifiedSourceCount: r.Refresh.CertifiedSourceCount, CertifiedSourceBytes: r.Refresh.CertifiedSourceBytes,
			Progress: r.Refresh.Progress,
		},
		Semantic:  SnapshotSemantic{Status: r.Semantic.Status, Reason: r.Semantic.Reason, Enabled: r.Semantic.Enabled},
		Daemon:    SnapshotDaemon{Status: r.Daemon.Status, Running: r.Daemon.Running, Jobs: SnapshotJobs{SemanticIndex: &job}},
		LocalOnly: true, ReadOnly: true,
	}
	if r.Indexing != nil {
		s.Indexing = *r.Indexing
	}
	return s
}
