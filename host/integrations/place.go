package integrations

import (
	"os"
	"path/filepath"
)

// Scope is whose files are meant.
type Scope string

const (
	Global  Scope = "global"  // the user's own
	Project Scope = "project" // below the working directory
)

// Where is what paths are resolved from.
type Where struct {
	Home    string
	WorkDir string
	Getenv  func(string) string
}

// root is the directory that a place's files are relative to; "" = not known.
func (w Where) root(p *place, scope Scope) string {
	if scope == Project {
		return w.WorkDir
	}
	if dir := w.variable(p.env); dir != "" {
		return dir
	}
	if p.env == "MIMOCODE_CONFIG_DIR" { // the one client with a second variable
		if home := w.variable("MIMOCODE_HOME"); home != "" {
			return filepath.Join(home, "config")
		}
	}
	if w.Home == "" {
		return ""
	}
	return filepath.Join(w.Home, filepath.FromSlash(p.base))
}

// variable is an absolute directory from the environment.
func (w Where) variable(name string) string {
	if name == "" {
		return ""
	}
	if dir := w.Getenv(name); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// file is the path of a place and whether its client is there.
func (w Where) file(p *place, scope Scope) (path string, detected bool) {
	root := w.root(p, scope)
	if root == "" || len(p.files) == 0 {
		return "", false
	}
	for _, name := range p.files {
		if candidate := filepath.Join(root, filepath.FromSlash(name)); exists(candidate) {
			return candidate, true
		}
	}
	for _, name := range p.detect {
		detected = detected || exists(filepath.Join(root, filepath.FromSlash(name)))
	}
	return filepath.Join(root, filepath.FromSlash(p.files[0])), detected
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
