package config

import (
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of named roots.
const (
	MaxRoots         = 64
	MaxNameBytes     = 64
	MaxPathBytes     = 16 << 10 // encoded: UTF-8 on Unix, UTF-16 on Windows
	kindCurrent      = "current-conversations"
	kindLegacy       = "legacy-persistence"
	openHandsID      = "openhands"
	rootWithoutOwner = "a root lies above, below or on the data root of ctx"
)

// ValidName reports whether s can name a root or a group: 1 to 64 of A-Z, a-z, 0-9, '-' and '_'.
func ValidName(s string) bool {
	if len(s) == 0 || len(s) > MaxNameBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// validateRoots checks all roots, rule after rule, so that the first broken rule is the same whatever the order of the file.
func validateRoots(dataRoot string, written []writtenRoot) ([]Root, error) {
	if len(written) > MaxRoots {
		return nil, malformed("there are more than 64 roots")
	}
	for _, check := range []func(*writtenRoot) error{checkNames, checkProvider, checkCapability, checkPath, checkRequired, checkKind} {
		for i := range written {
			if err := check(&written[i]); err != nil {
				return nil, err
			}
		}
	}
	roots := make([]Root, len(written))
	for i, w := range written {
		p, _ := ProviderNamed(w.provider)
		roots[i] = Root{Name: w.name, Provider: p.ID, Path: w.path, Written: w.path, Group: w.group, Kind: w.kind}
		if resolved, err := Resolve(w.path); err == nil {
			roots[i].Path, roots[i].Exists = resolved, true
		}
	}
	if err := checkDistinct(roots); err != nil {
		return nil, err
	}
	for _, r := range roots {
		if Overlaps(r.Path, dataRoot) || Overlaps(r.Written, dataRoot) {
			return nil, malformed(rootWithoutOwner)
		}
	}
	return roots, nil
}

func checkNames(w *writtenRoot) error {
	if !ValidName(w.name) || w.hasGroup && !ValidName(w.group) {
		return malformed("names of roots and groups are 1 to 64 letters, digits, '-' or '_'")
	}
	return nil
}

func checkProvider(w *writtenRoot) error {
	if !w.hasProvider {
		return nil // told by checkRequired, in its turn
	}
	if _, ok := ProviderNamed(w.provider); !ok {
		return malformed("a root names a provider that is not known")
	}
	return nil
}

func checkCapability(w *writtenRoot) error {
	if p, ok := ProviderNamed(w.provider); ok && p.RootIs == NoNamedRoot {
		return malformed("a root names a provider that takes no configured root")
	}
	return nil
}

func checkPath(w *writtenRoot) error {
	if w.hasPath && !ValidRootPath(w.path) {
		return malformed("the path of a root is absolute and normalized, without '.' and '..', at most 16 KiB")
	}
	return nil
}

func checkRequired(w *writtenRoot) error {
	if !w.hasProvider || !w.hasPath {
		return malformed("a root needs a provider and a path")
	}
	return nil
}

func checkKind(w *writtenRoot) error {
	p, _ := ProviderNamed(w.provider)
	switch {
	case p.ID != openHandsID && w.hasKind:
		return malformed("only an OpenHands root has a kind")
	case p.ID == openHandsID && w.kind != kindCurrent && w.kind != kindLegacy:
		return malformed("the kind of an OpenHands root is current-conversations or legacy-persistence")
	}
	return nil
}

// checkDistinct refuses two roots of one provider that are one object on disk, and OpenHands roots of different kinds one
// inside the other.
func checkDistinct(roots []Root) error {
	for i, a := range roots {
		for _, b := range roots[i+1:] {
			if a.Provider != b.Provider {
				continue
			}
			if a.Path == b.Path || SameObject(a.Path, b.Path) {
				return malformed("two roots of one provider are the same place")
			}
			if a.Kind != b.Kind && Overlaps(a.Path, b.Path) {
				return malformed("an OpenHands root of one kind lies inside one of the other kind")
			}
		}
	}
	return nil
}

// ValidRootPath reports whether a path can stand in the config file: absolute, normalized UTF-8 without NUL, within the length
// limit. On Windows it starts with a drive letter: network, device and verbatim forms are refused.
func ValidRootPath(path string) bool {
	if path == "" || !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return false
	}
	if encodedLength(path) > MaxPathBytes || !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return false
	}
	return runtime.GOOS != "windows" || len(filepath.VolumeName(path)) == 2
}

func encodedLength(path string) int {
	if runtime.GOOS == "windows" {
		return 2 * len(utf16.Encode([]rune(path)))
	}
	return len(path)
}
