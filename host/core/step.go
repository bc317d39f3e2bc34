package core

// Steps of a writer in their order, as given to Options.Step. Some occur several times (one table after the other), some only in
// incremental builds.
const (
	StepCreate        = "candidate.create"
	StepSegment       = "segment.write"
	StepTables        = "tables.write"
	StepClone         = "records.clone"
	StepIngest        = "records.ingest"
	StepSnapshot      = "snapshot.write"
	StepManifest      = "manifest.write"
	StepSync          = "candidate.sync"
	StepLease         = "lease.create"
	StepObserve       = "observations.write"
	StepPointerWrite  = "pointer.write"
	StepPointerRename = "pointer.rename"
	StepPointerSync   = "pointer.sync"
	StepCollect       = "collect"
)

// Steps lists all steps in order.
func Steps() []string {
	return []string{
		StepCreate, StepSegment, StepTables, StepClone, StepIngest, StepSnapshot, StepManifest, StepSync, StepLease, StepObserve,
		StepPointerWrite, StepPointerRename, StepPointerSync, StepCollect,
	}
}

func (s *Store) step(name string) error {
	if s.opt.Step == nil {
		return nil
	}
	return s.opt.Step(name)
}

// mayWrite announces a write to Options.Write.
func (s *Store) mayWrite(n int) error {
	if s.opt.Write == nil {
		return nil
	}
	return s.opt.Write(n)
}
