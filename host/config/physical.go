package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Resolve returns the physical path of an existing file or directory: every link is followed once. A path that does not exist
// gives an error that is fs.ErrNotExist.
func Resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(resolved)
}

// SameObject reports whether two existing paths are one object on disk: hard links, bind mounts and links included.
func SameObject(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Overlaps reports whether two places are equal or one lies inside the other. It compares the paths as written, their physical
// forms, and the identity (device and inode) of every existing ancestor, so that neither links nor mounts nor a file system
// that ignores case can hide an overlap. A place that does not exist yet is represented by its nearest existing ancestor.
func Overlaps(a, b string) bool {
	if contains(a, b) || contains(b, a) {
		return true
	}
	pa, pb := physicalForm(a), physicalForm(b)
	if contains(pa, pb) || contains(pb, pa) {
		return true
	}
	return identityInside(pa, pb) || identityInside(pb, pa)
}

// contains reports whether inner is outer or lies below it, by names alone.
func contains(outer, inner string) bool {
	rel, err := filepath.Rel(outer, inner)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// physicalForm resolves the longest existing part of a path and keeps the rest as written.
func physicalForm(path string) string {
	rest := ""
	for p := filepath.Clean(path); ; {
		if resolved, err := Resolve(p); err == nil {
			return filepath.Join(resolved, rest)
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return filepath.Clean(path)
		}
		parent := filepath.Dir(p)
		if parent == p {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(p), rest)
		p = parent
	}
}

// identityInside reports whether an existing ancestor of inner, or inner itself, is the object outer.
func identityInside(outer, inner string) bool {
	want, err := os.Stat(outer)
	if err != nil {
		return false
	}
	for p := inner; ; {
		if info, err := os.Stat(p); err == nil && os.SameFile(info, want) {
			return true
		}
		parent := filepath.Dir(p)
		if parent == p {
			return false
		}
		p = parent
	}
}
