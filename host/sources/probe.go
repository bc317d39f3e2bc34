package sources

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Bounds of a probe that declares none; declared ones were checked with the description.
const (
	maxProbeEntries   = 10_000
	defaultProbeDepth = 8
	probeBatch        = 256
)

// errFound and errSpent end a probe early.
var (
	errFound = errors.New("found")
	errSpent = errors.New("budget spent")
)

// probeStatus says whether a readable place holds something to import. It looks at names only, follows no link below the root,
// and gives up after a bounded number of directory entries.
func probeStatus(root string, p *historyv1.Probe) (status Status, reason string) {
	info, err := os.Lstat(root)
	if err != nil {
		return Unknown, "the path cannot be read"
	}
	if info.Mode().IsRegular() {
		if info.Size() == 0 {
			return Empty, "the file is empty"
		}
		return Available, ""
	}
	w := newProbe(p)
	switch err := w.directory(root, nil); {
	case errors.Is(err, errFound):
		return Available, ""
	case errors.Is(err, errSpent):
		return Unknown, "the search for a history file was given up after its bound"
	case err != nil || w.unreadable:
		return Unknown, "a directory cannot be read"
	}
	return Empty, "nothing to import was found"
}

type probe struct {
	globs      [][]string // split at '/'
	depth      int
	left       int
	unreadable bool
}

func newProbe(p *historyv1.Probe) *probe {
	w := &probe{depth: cmp.Or(int(p.GetMaxDepth()), defaultProbeDepth), left: cmp.Or(int(p.GetMaxEntries()), maxProbeEntries)}
	globs := p.GetGlobs()
	if len(globs) == 0 {
		globs = []string{"**/*"}
	}
	for _, g := range globs {
		w.globs = append(w.globs, strings.Split(g, "/"))
	}
	return w
}

// directory walks depth first, batch by batch, the files of a batch before its directories: the usual case ends in the first few
// entries, however many there are.
func (w *probe) directory(dir string, rel []string) error {
	f, err := os.Open(dir)
	if err != nil {
		w.unreadable = true
		return nil
	}
	defer f.Close()
	for {
		var children []string
		entries, err := f.ReadDir(probeBatch)
		for _, e := range entries {
			if w.left == 0 {
				return errSpent
			}
			w.left--
			if err := w.entry(e, rel, &children); err != nil {
				return err
			}
		}
		for _, name := range children {
			if err := w.directory(filepath.Join(dir, name), append(rel[:len(rel):len(rel)], name)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			w.unreadable = true
			return nil
		}
	}
}

func (w *probe) entry(e fs.DirEntry, rel []string, children *[]string) error {
	below := append(rel[:len(rel):len(rel)], e.Name())
	switch {
	case e.Type().IsRegular():
		for _, g := range w.globs {
			if matches(g, below) {
				return errFound
			}
		}
	case e.IsDir() && len(below) < w.depth:
		for _, g := range w.globs {
			if leadsTo(g, below) {
				*children = append(*children, e.Name())
				break
			}
		}
	}
	return nil
}

// matches reports whether all components of a path match a glob; "**" stands for any number of components.
func matches(glob, parts []string) bool { return walkGlob(glob, parts)[len(glob)] }

// leadsTo reports whether something below a directory can still match the glob.
func leadsTo(glob, dir []string) bool {
	for _, reached := range walkGlob(glob, dir)[:len(glob)] {
		if reached {
			return true
		}
	}
	return false
}

// walkGlob returns the positions of a glob that can be reached after all parts: the glob is a small automaton, so the work is
// the product of both lengths whatever a description holds.
func walkGlob(glob, parts []string) []bool {
	at := make([]bool, len(glob)+1)
	at[0] = true
	skip := func() {
		for i, g := range glob {
			if at[i] && g == "**" {
				at[i+1] = true
			}
		}
	}
	skip()
	for _, part := range parts {
		next := make([]bool, len(glob)+1)
		for i, g := range glob {
			if !at[i] {
				continue
			}
			if g == "**" {
				next[i] = true
			} else if ok, err := path.Match(g, part); err == nil && ok {
				next[i+1] = true
			}
		}
		at = next
		skip()
	}
	return at
}
