package config

import (
	"path/filepath"

	"github.com/agenthistory/ctx/host/fault"
)

// DataRoot returns the absolute data root: the flag value when it is not empty, else CTX_DATA_ROOT, else .ctx in the home
// directory. Nothing is appended to a given path and nothing is created. A relative path counts from the working directory.
func DataRoot(flag string, env Environment) (string, error) {
	path := flag
	if path == "" {
		path = env.control("CTX_DATA_ROOT")
	}
	if path == "" {
		if env.Home == "" {
			return "", fault.New(fault.InvalidRequest, "the home directory is not known, so there is no default data root").
				WithHint("Pass --data-root or set CTX_DATA_ROOT")
		}
		path = filepath.Join(env.Home, ".ctx")
	}
	if path = env.Absolute(path); path == "" {
		return "", fault.New(fault.InvalidRequest, "the data root is relative and the working directory is not known").
			WithHint("Pass an absolute path")
	}
	return path, nil
}

// Absolute returns the clean absolute form of a path that a user gave; "" when there is none, or the working directory is not known.
func (e Environment) Absolute(path string) string {
	switch {
	case path == "" || !filepath.IsAbs(path) && e.WorkDir == "":
		return ""
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(e.WorkDir, path)
}
