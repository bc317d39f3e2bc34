package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/stored"
)

// maxProblems is how many problems a check lists; it counts all of them.
const maxProblems = 20

// VerifyCheck is one thing that was checked.
type VerifyCheck struct {
	Name     string   // pointer, manifest, files, digests, text, records, events, sessions, sources, identity, observations
	Detail   string   // what was checked, for people
	Checked  uint64   // how many files, records or keys
	Failed   uint64   // how many of them are wrong
	Problems []string // the first ones
}

func (c *VerifyCheck) problem(format string, args ...any) {
	c.Failed++
	if len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
	}
}

// VerifyReport says what was checked and what was found.
type VerifyReport struct {
	Generation string // "" when none is published
	Deep       bool
	Checks     []VerifyCheck
}

// OK tells whether nothing was found.
func (r *VerifyReport) OK() bool {
	return !slices.ContainsFunc(r.Checks, func(c VerifyCheck) bool { return c.Failed > 0 })
}

// Verify checks the active generation: pointer, manifest, presence and size of every file and that both stores open. With deep set it
// also reads every byte: the digest of every file, every record, every key in both directions, every count and the identity. A damaged
// index is a report with problems, not an error; an error means that the check itself could not go on. progress may be nil.
func (s *Store) Verify(ctx context.Context, deep bool, progress func(check string, done, total int64)) (VerifyReport, error) {
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	v := &verifier{store: s, ctx: ctx, progress: progress, report: VerifyReport{Deep: deep}}
	err := v.run(deep)
	return v.report, err
}

type verifier struct {
	store    *Store
	ctx      context.Context
	progress func(string, int64, int64)
	report   VerifyReport
	g        *Generation
}

// check runs one check. An error of f that is damage becomes a problem.
func (v *verifier) check(name, detail string, f func(*VerifyCheck) error) (ok bool, err error) {
	if err := v.ctx.Err(); err != nil {
		return false, err
	}
	c := VerifyCheck{Name: name, Detail: detail}
	err = f(&c)
	if err != nil && isDamage(err) {
		c.problem("%s", fault.From(err).Detail())
		err = nil
	}
	v.report.Checks = append(v.report.Checks, c)
	return c.Failed == 0, err
}

// tick counts something checked, and now and then reports progress and looks whether to go on.
func (v *verifier) tick(c *VerifyCheck, total uint64) error {
	c.Checked++
	if c.Checked%4096 != 0 {
		return nil
	}
	v.progress(c.Name, int64(c.Checked), int64(total))
	return v.ctx.Err()
}

func isDamage(err error) bool {
	damage := []string{fault.IndexCorruption, fault.PublicationAuthorityInvalid, fault.IndexIncompatible}
	return slices.Contains(damage, fault.Code(err)) || errors.As(err, new(stored.Malformed))
}

func (v *verifier) run(deep bool) error {
	var p Pointer
	ok, err := v.check("pointer", "the pointer is complete and canonical", func(c *VerifyCheck) (err error) {
		p, err = v.store.Pointer()
		c.Checked = 1
		return err
	})
	if err != nil || !ok || p.Active == nil {
		return err
	}
	v.report.Generation = p.Active.Generation
	if _, err := v.check("observations", "the sightings kept beside the generation can be read", func(c *VerifyCheck) error {
		b, err := os.ReadFile(v.store.observationPath(p.Active.Directory))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		c.Checked = 1
		if err == nil {
			_, err = decodeObservations(b)
		}
		return err
	}); err != nil {
		return err
	}
	ok, err = v.check("manifest", "the manifest belongs to the pointer, every file has its size, both stores open", func(c *VerifyCheck) (err error) {
		if v.g, err = v.store.pin(v.ctx, active, openWhole); v.g != nil {
			c.Checked = uint64(len(v.g.manifest.Files))
		}
		return err
	})
	if err != nil || !ok {
		return err
	}
	defer v.g.Close()
	checks := []struct {
		name, detail string
		run          func(*VerifyCheck) error
	}{
		{"files", "the generation holds no file that its manifest does not list", v.strangers},
		{"digests", "every file has the SHA-256 digest of the manifest", v.digests},
		{"text", "every segment is well formed and every checksum holds", v.text},
		{"records", "every record can be decoded and agrees with its columns", v.records},
		{"events", "every live event has its keys, and every key leads to a live event", v.keys},
		{"sessions", "every session is found by ordinal, id, provider id and source, and its counts are right", v.sessions},
		{"sources", "every certificate is complete, and the sums of the manifest are right", v.sources},
		{"identity", "the id follows from the content", v.identity},
	}
	if !deep {
		checks = checks[:1]
	}
	for _, c := range checks {
		if _, err := v.check(c.name, c.detail, c.run); err != nil {
			return err
		}
	}
	return nil
}

// strangers looks for files that the manifest does not list.
func (v *verifier) strangers(c *VerifyCheck) error {
	known := v.g.manifest.byName()
	return fs.WalkDir(os.DirFS(v.store.generationPath(v.g.published.Directory)), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		c.Checked++
		if _, ok := known[name]; !ok && name != manifestFile {
			c.problem("unexpected file %s", name)
		}
		return nil
	})
}

func (v *verifier) digests(c *VerifyCheck) error {
	root := v.store.generationPath(v.g.published.Directory)
	var total, done int64
	for _, f := range v.g.manifest.Files {
		total += f.Bytes
	}
	for _, f := range v.g.manifest.Files {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		got, err := hashFile(filepath.Join(root, filepath.FromSlash(f.Name)))
		if err != nil {
			return err
		}
		c.Checked++
		if got.Digest != f.Digest || got.Bytes != f.Bytes {
			c.problem("%s differs from its digest", f.Name)
		}
		done += f.Bytes
		v.progress(c.Name, done, total)
	}
	return nil
}

func (v *verifier) text(c *VerifyCheck) error {
	c.Checked = uint64(len(v.g.manifest.Segments))
	if err := v.g.text.Verify(); err != nil {
		c.problem("%v", err)
	}
	return nil
}
