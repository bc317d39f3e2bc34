package refresh

// Stages of a whole run.
const (
	StagePreparing = "preparing"
	StageReading   = "reading"
	StageMerging   = "merging"
	StageSyncing   = "syncing"
	StagePhysical  = "physical_verification"
	StageLogical   = "logical_verification"
	StageActivate  = "activation"
	StageComplete  = "complete"
	StageFailed    = "failed"
)

// Progress is one event of the progress stream. Null members are kept.
type Progress struct {
	Type            string   `json:"type"`      // ctx_progress
	Operation       string   `json:"operation"` // import or setup
	Phase           string   `json:"phase"`
	Message         string   `json:"message"`
	CompletedBytes  uint64   `json:"completed_bytes"`
	TotalBytes      uint64   `json:"total_bytes"`
	Percent         float64  `json:"percent"` // 0..100
	ElapsedSeconds  float64  `json:"elapsed_seconds"`
	ETASeconds      *float64 `json:"eta_seconds"`
	CompletedFiles  *uint64  `json:"completed_files"`
	TotalFiles      *uint64  `json:"total_files"`
	ImportedEvents  *uint64  `json:"imported_events"`
	Done            bool     `json:"done"`
	CompletedSource uint64   `json:"completed_sources"`
	TotalSources    uint64   `json:"total_sources"`
	TotalKnown      bool     `json:"total_sources_known"`
	SourceRecords   *uint64  `json:"source_completed_records"`
	SourceBytes     *uint64  `json:"source_completed_bytes"`
	AgentHistories  []string `json:"agent_histories"`
	Sessions        uint64   `json:"processed_sessions"`
	Messages        uint64   `json:"processed_messages"`
	ToolCalls       uint64   `json:"processed_tool_calls"`
	Bytes           uint64   `json:"processed_bytes"`
	Stage           string   `json:"whole_run_stage"`
	RemainingMillis *uint64  `json:"estimated_remaining_millis"`
	ElapsedMillis   uint64   `json:"refresh_elapsed_millis"`
	CurrentSource   *string  `json:"current_source"`
	SourceProgress  *Step    `json:"current_source_progress"`
}

// Step is the progress inside the source that is read now.
type Step struct {
	Stage          string `json:"stage"` // parsing or index_writing
	PagesDone      uint64 `json:"snapshot_pages_completed"`
	PagesTotal     uint64 `json:"snapshot_pages_total"`
	BytesDone      uint64 `json:"snapshot_bytes_completed"`
	BytesTotal     uint64 `json:"snapshot_bytes_total"`
	RowsScanned    uint64 `json:"logical_rows_scanned"`
	CertifiedBytes uint64 `json:"logical_certified_bytes"`
}
