// Package testprovider is a small complete provider that the tests of the SDK
// and of the conformance kit run as a real process, and the same provider with
// one defect at a time, so that every check of the kit is seen to fail.
//
// Its format: any directory tree of <session>.jsonl files whose lines are
//
//	{"id":"n1","role":"user","text":"hello","at":1767323045678}
//
// with an optional "call" (a tool call id). It reads files in the plainest
// way, without package jsonl, so that the kit is tested against independent
// code.
package testprovider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
)

// Identity of the provider.
const (
	ID          = "scribble"
	Format      = "scribble_jsonl_tree"
	Role        = "scribble-sessions"
	SessionKind = "scribble-session"
	EventKind   = "scribble-event"
	namespace   = "scribble.session"
)

// Provider is the provider. Defect names one way in which it is wrong; empty
// is the correct one.
type Provider struct{ Defect string }

func (p *Provider) has(defect string) bool { return p.Defect == defect }

// Describe gives the static data.
func (p *Provider) Describe(_ context.Context, _ sdkplugin.DescribeRequest, d *sdkplugin.DescribeResponse) {
	d.Id, d.DisplayName, d.Version, d.ParserRevision = ID, "Scribble", "1.2.3", "scribble-1"
	d.Formats = []*sdkplugin.Format{{Name: Format, SchemaVariant: "scribble-jsonl-v1", Family: sdkplugin.JSONLTranscript}}
	d.Locations = []*sdkplugin.Location{
		{Env: "SCRIBBLE_HOME", Suffix: "sessions", Format: Format, Role: Role, Mode: sdkplugin.OverrideLocation},
		{Base: sdkplugin.HomeDir, Suffix: ".scribble/sessions", Format: Format, Role: Role,
			Probe: &sdkplugin.Probe{Globs: []string{"**/*.jsonl"}}},
	}
	d.Root = &sdkplugin.RootCapability{PathKind: sdkplugin.PathDirectory, Children: []*sdkplugin.RootChild{{Format: Format, Role: Role}}}
	d.CurrentSession = &sdkplugin.CurrentSession{SessionEnv: "SCRIBBLE_SESSION"}
	d.Resume = &sdkplugin.ResumeCommand{Argv: []string{"scribble", "--continue", "{provider_session_id}"}, InCwd: true}
	d.Environment = []string{"SCRIBBLE_HOME"}
	switch {
	case p.has("describe-unstable"):
		d.Version = fmt.Sprint(os.Getpid())
	case p.has("describe-incomplete"):
		d.ParserRevision = ""
	}
}

// Inventory walks every route.
func (p *Provider) Inventory(ctx context.Context, req sdkplugin.InventoryRequest, out *sdkplugin.InventoryWriter) error {
	for i, route := range req.Routes {
		state, err := p.walk(ctx, i, route, out)
		if err != nil {
			return err
		}
		out.Route(i, state)
	}
	return nil
}

func (p *Provider) walk(ctx context.Context, index int, route sdkplugin.Route, out *sdkplugin.InventoryWriter) (sdkplugin.RouteState, error) {
	if p.has("inventory-crash") {
		os.Exit(3)
	}
	state := sdkplugin.RouteComplete
	var found []sdkplugin.Source
	var directories, files, links uint64
	err := filepath.WalkDir(route.Path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && path == route.Path:
			return err
		case err != nil:
			state = sdkplugin.RouteIncomplete
			return nil
		case entry.IsDir():
			directories++
			return nil
		case entry.Type()&fs.ModeSymlink != 0 && !p.has("follows-links"):
			links++
			return nil
		case !entry.Type().IsRegular() && !p.has("follows-links"), !strings.HasSuffix(path, ".jsonl"):
			return nil
		}
		files++
		source, err := p.source(index, route, path)
		if err == nil {
			found = append(found, source)
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if p.has("missing-is-complete") {
			return sdkplugin.RouteComplete, nil
		}
		return sdkplugin.RouteMissing, nil
	case err != nil && ctx.Err() == nil:
		return sdkplugin.RouteUnreadable, nil
	case err != nil:
		return state, err
	}
	if p.has("empty-is-incomplete") && len(found) == 0 {
		state = sdkplugin.RouteIncomplete
	}
	out.Walked(directories, files, links)
	for _, source := range p.arrange(found) {
		if err := out.Source(source); err != nil {
			return state, err
		}
	}
	return state, nil
}

// arrange puts the sources in their order; several defects live here.
func (p *Provider) arrange(found []sdkplugin.Source) []sdkplugin.Source {
	switch {
	case p.has("inventory-order"):
		for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
			found[i], found[j] = found[j], found[i]
		}
	case p.has("inventory-drops") && len(found) > 1:
		return found[:len(found)-1]
	case p.has("inventory-cap") && len(found) > 100:
		return found[:100]
	case p.has("same-anchor"):
		for i := range found {
			found[i].Anchor = found[0].Anchor
		}
	}
	return found
}

func (p *Provider) source(index int, route sdkplugin.Route, path string) (sdkplugin.Source, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return sdkplugin.Source{}, err
	}
	locator, err := filepath.Rel(route.Path, path)
	if err != nil {
		return sdkplugin.Source{}, err
	}
	if locator == "." {
		locator = ""
	}
	id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	return sdkplugin.Source{
		Route: index, Anchor: sdkplugin.NativeAnchor(namespace, sdkplugin.Utf8(id)), Format: Format,
		Locator: filepath.ToSlash(locator), Observation: p.observe(info), Size: uint64(info.Size()),
		ModTimeNS: info.ModTime().UnixNano(), ProviderSessionID: id,
	}, nil
}

// Observe looks at one file.
func (p *Provider) Observe(_ context.Context, route sdkplugin.Route, known sdkplugin.Source) (sdkplugin.Source, error) {
	if p.has("observe-stale") {
		return known, nil
	}
	return p.source(known.Route, route, filepath.Join(route.Path, filepath.FromSlash(known.Locator)))
}

func (p *Provider) observe(info fs.FileInfo) []byte {
	switch {
	case p.has("observation-constant"):
		return []byte("same")
	case p.has("observation-by-chance"):
		return binary.BigEndian.AppendUint64(nil, rand.Uint64())
	}
	token := binary.BigEndian.AppendUint64(nil, uint64(info.Size()))
	return binary.BigEndian.AppendUint64(token, uint64(info.ModTime().UnixNano()))
}

// frontier is what an append needs: the state of the running SHA-256 and the
// next line number.
type frontier struct {
	lines uint64
	hash  []byte
}

func (f frontier) encode() []byte {
	return append(binary.BigEndian.AppendUint64(nil, f.lines), f.hash...)
}

// Scan reads one file.
func (p *Provider) Scan(ctx context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
	switch {
	case p.has("scan-panic"):
		panic("on purpose")
	case p.has("scan-crash"):
		os.Exit(4)
	}
	path := req.Path()
	info, err := os.Lstat(path)
	if p.has("follows-links") {
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if p.has("vanished-is-empty") {
			return out.End(sdkplugin.Ending{Observation: []byte("empty"), ContentDigest: sha256.Sum256(nil)})
		}
		return sdkplugin.Fail(sdkplugin.Vanished, "the file is gone")
	case err != nil:
		return sdkplugin.Fail(sdkplugin.Unreadable, "the file cannot be examined")
	case !info.Mode().IsRegular() && !p.has("follows-links"):
		return sdkplugin.Fail(sdkplugin.Unreadable, "not a regular file")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		if p.has("unreadable-is-empty") {
			return out.End(sdkplugin.Ending{Observation: p.observe(info), ContentDigest: sha256.Sum256(nil)})
		}
		return sdkplugin.Fail(sdkplugin.Unreadable, "the file cannot be read")
	}
	r := &reading{p: p, ctx: ctx, out: out, id: strings.TrimSuffix(filepath.Base(path), ".jsonl"), hash: sha256.New()}
	return r.run(req, data, info)
}

// resume goes on behind the certified prefix when it is still there.
func (r *reading) resume(req sdkplugin.ScanRequest, data []byte) bool {
	if req.Mode != sdkplugin.ModeAppend || len(req.Frontier) < 8 || uint64(len(data)) < req.CertifiedBytes {
		return false
	}
	if !r.p.has("append-unverified") {
		digest := sha256.Sum256(data[:req.CertifiedBytes])
		if !bytes.Equal(digest[:], req.ContentDigest) {
			return false
		}
	}
	if r.hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(req.Frontier[8:]) != nil {
		return false
	}
	r.line = binary.BigEndian.Uint64(req.Frontier)
	r.offset = req.CertifiedBytes
	if r.p.has("append-repeats") && r.offset > 0 {
		prefix := data[:r.offset-1]
		r.offset = uint64(bytes.LastIndexByte(prefix, '\n') + 1)
		r.line--
	}
	return true
}
