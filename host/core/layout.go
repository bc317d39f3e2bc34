package core

import "path/filepath"

// The places below the store directory. Directories are created 0700, files 0600: history is private.
const (
	pointerFile     = "active.json"
	writerLockFile  = "writer.lock"
	leasesDir       = "leases"
	generationsDir  = "generations"
	observationsDir = "observations"

	manifestFile = "manifest.json"
	textDir      = "text"
	recordsDir   = "records"
	stagingDir   = "staging" // of a candidate only: tables before they are ingested, spilled runs

	dirMode  = 0o700
	fileMode = 0o600
)

func (s *Store) pointerPath() string            { return filepath.Join(s.dir, pointerFile) }
func (s *Store) generationPath(d string) string { return filepath.Join(s.dir, generationsDir, d) }
func (s *Store) leasePath(d string) string      { return filepath.Join(s.dir, leasesDir, d) }
func (s *Store) observationPath(d string) string {
	return filepath.Join(s.dir, observationsDir, d)
}

// directories are what a writer needs to exist.
func (s *Store) directories() []string {
	return []string{
		s.dir,
		filepath.Join(s.dir, leasesDir),
		filepath.Join(s.dir, generationsDir),
		filepath.Join(s.dir, observationsDir),
	}
}
