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
	Scope   Scope
}

// Request says whose files are meant, and what may happen to them.
type Request struct {
	Where
	Agents []string // ids; none of them means the detected agents
	All    bool     // every known agent
	Force  bool     // change what is not ours or was edited; never an invalid file
	Backup bool     // keep the old text in a file beside it
	// Version of this program, which an installed skill remembers.
	Version string
}

// root is the directory that a place's files are relative to; "" = not known.
func (w Where) root(p *place) string {
	if w.Scope == Project {
		return w.WorkDir
	}
	if p.env == "MIMOCODE_CONFIG_DIR" && w.variable(p.env) == "" { // the one client with a second variable
		if home := w.variable("MIMOCODE_HOME"); home != "" {
			return filepath.Join(home, "config")
		}
	}
	return w.own(p.env, p.base)
}

// own is the user's directory of an agent: that of a variable, or one below the home; "" = not known.
func (w Where) own(env, base string) string {
	if dir := w.variable(env); dir != "" || w.Home == "" {
		return dir
	}
	return filepath.Join(w.Home, filepath.FromSlash(base))
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
func (w Where) file(p *place) (path string, detected bool) {
	root := w.root(p)
	if root == "" || len(p.files) == 0 {
		return "", false
	}
	for _, name := range p.files {
		if candidate := filepath.Join(root, filepath.FromSlash(name)); exists(candidate) {
			return candidate, true
		}
	}
	detected = w.Scope == Global && w.variable(p.env) != "" && exists(root)
	for _, name := range p.detect {
		detected = detected || exists(filepath.Join(root, filepath.FromSlash(name)))
	}
	return filepath.Join(root, filepath.FromSlash(p.files[0])), detected
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
