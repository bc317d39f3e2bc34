package core

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthistory/ctx/host/lexical"
)

// Manifest describes one generation completely: its files, its segments and what it holds. It is small whatever the size of the
// archive, because certificates and sessions live in the record store and only their digests are here.
type Manifest struct {
	SchemaVersion int        `json:"schema_version"`
	Contract      string     `json:"contract"`   // fingerprint of all revisions
	Generation    string     `json:"generation"` // content-derived id
	Files         []File     `json:"files"`      // by name
	Segments      []Segment  `json:"segments"`
	Stats         Statistics `json:"statistics"`
	Providers     []string   `json:"providers"`    // index = provider number in the columns
	Certificates  string     `json:"certificates"` // sum over the facts of all certificates
	Sessions      string     `json:"sessions"`     // sum over the facts of all sessions
	Tombstones    string     `json:"tombstones"`   // digest of the forgotten sessions, "" when none
	Config        string     `json:"config"`       // digest of the source configuration
	Routes        []Route    `json:"routes"`
	Roots         []Root     `json:"roots"`
	Deliveries    Deliveries `json:"deliveries"` // who delivered the sources last; no part of the generation's identity
	Next          Next       `json:"next"`
}

// Segment is lexical.Segment in the manifest's short form.
type Segment struct {
	ID         uint32 `json:"i"`
	Docs       uint32 `json:"d"`
	Live       uint32 `json:"l"`
	Searchable uint32 `json:"s"`
	Tokens     uint64 `json:"t"`
}

// Statistics count what a generation holds. The native record counts and bytes are sums over the certificates.
type Statistics struct {
	Events         uint64 `json:"events"`
	Searchable     uint64 `json:"searchable"`
	Sessions       uint64 `json:"sessions"`
	Sources        uint64 `json:"sources"`
	GoneSources    uint64 `json:"gone_sources"`
	Frontiers      uint64 `json:"frontiers"` // sources with an append frontier
	CertifiedBytes uint64 `json:"certified_bytes"`
	Complete       uint64 `json:"complete"`
	Retained       uint64 `json:"retained"`
	Rejected       uint64 `json:"rejected"`
	Ignored        uint64 `json:"ignored"`
}

// Deliveries counts the sources of a generation by what saw them last, in the order of its fields.
type Deliveries []Delivery

// Delivery is a provider and a route, which need not be selected any more, and the number of sources last seen there.
type Delivery struct {
	Provider string `json:"p"`
	Route    string `json:"r"` // identity
	Sources  uint64 `json:"n"`
}

// count adds n sources. Few entries are there: one for every provider and root that ever was.
func (d *Deliveries) count(provider, route string, n int64) {
	i, found := slices.BinarySearchFunc(*d, Delivery{Provider: provider, Route: route}, func(a, b Delivery) int {
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Route, b.Route))
	})
	if !found {
		*d = slices.Insert(*d, i, Delivery{Provider: provider, Route: route})
	}
	if (*d)[i].Sources += uint64(n); (*d)[i].Sources == 0 {
		*d = slices.Delete(*d, i, i+1)
	}
}

// Next holds the next unused numbers. They only grow, so an ordinal never means two things in one archive.
type Next struct {
	Segment uint32 `json:"segment"`
	Session uint32 `json:"session"`
	Source  uint32 `json:"source"`
}

// Route is one route that was selected when the generation was published.
type Route struct {
	Identity  string `json:"identity"` // 64 hex digits
	Provider  string `json:"provider"`
	Format    string `json:"format"`
	Authority string `json:"authority"` // what selected it: automatic, configured ...
	Role      string `json:"role"`
	Root      string `json:"root"` // name of the configured root, "" = automatic
	Path      string `json:"path"`
	Absent    uint32 `json:"absent"` // consecutive certified absences; no part of the generation's identity
}

// Root is a named root as it was defined when the generation was published.
type Root struct {
	Provider string `json:"provider"`
	Name     string `json:"name"`
	Group    string `json:"group"`
	Path     string `json:"path"`
	Identity string `json:"identity"` // released or named_v1, decided at the first publication
	Origin   string `json:"origin"`   // the automatic root that a released one was inferred from
	// Removed marks a name that is not configured any more and is kept for its identity alone.
	Removed bool `json:"removed,omitempty"`
}

// File is a file of a generation. Its text form is "name bytes digest" with the SHA-256 in unpadded base64url: a manifest lists
// several files a segment, and every refresh writes it again.
type File struct {
	Name   string // relative to the generation, '/' separated
	Bytes  int64
	Digest [32]byte
}

// MarshalText returns the text form.
func (f File) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s %d %s", f.Name, f.Bytes, base64.RawURLEncoding.EncodeToString(f.Digest[:])), nil
}

// UnmarshalText reads the text form and refuses names that leave the generation.
func (f *File) UnmarshalText(b []byte) error {
	parts := strings.Split(string(b), " ")
	if len(parts) != 3 || !filepath.IsLocal(filepath.FromSlash(parts[0])) {
		return errors.New("malformed file entry")
	}
	size, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || size < 0 {
		return errors.New("malformed file size")
	}
	digest, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(digest) != len(f.Digest) {
		return errors.New("malformed file digest")
	}
	*f = File{Name: parts[0], Bytes: size, Digest: [32]byte(digest)}
	return nil
}

const (
	manifestSchema  = 1
	maxManifestSize = 64 << 20 // far above any real one; bounds what a damaged file can cost
)

func (m *Manifest) encode() []byte {
	m.SchemaVersion = manifestSchema
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // ends with one LF
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		panic(err) // strings and numbers only
	}
	return b.Bytes()
}

// decodeManifest accepts exactly what encode writes. With trusted set, the digest of b was checked, which shows the same for less.
func decodeManifest(b []byte, trusted bool) (*Manifest, error) {
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, err
	}
	if m.SchemaVersion != manifestSchema {
		return nil, fmt.Errorf("manifest schema %d", m.SchemaVersion)
	}
	if !trusted && !bytes.Equal(m.encode(), b) {
		return nil, errors.New("manifest is not in canonical form")
	}
	if !isDigest(m.Generation) || !isDigest(m.Contract) {
		return nil, errors.New("manifest holds a malformed digest")
	}
	return m, nil
}

// readManifest reads the manifest of a published generation and checks it against the pointer.
func (s *Store) readManifest(p Published) (*Manifest, error) {
	path := filepath.Join(s.generationPath(p.Directory), manifestFile)
	if info, err := os.Stat(path); err == nil && info.Size() > maxManifestSize {
		return nil, damagedAuthority(fmt.Errorf("manifest of %d bytes", info.Size()), "manifest")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, damagedAuthority(err, "manifest")
	}
	if sum := sha256.Sum256(b); p.Manifest != "" && hex.EncodeToString(sum[:]) != p.Manifest {
		return nil, damagedAuthority(errors.New("manifest digest differs from the pointer"), "manifest")
	}
	m, err := decodeManifest(b, p.Manifest != "")
	if err != nil {
		return nil, foreignManifest(b, err)
	}
	if p.Generation != "" && m.Generation != p.Generation {
		return nil, damagedAuthority(errors.New("manifest of another generation"), "manifest")
	}
	return m, nil
}

// foreignManifest tells apart a damaged manifest and one that another version of ctx wrote in a form of its own.
func foreignManifest(b []byte, cause error) error {
	var head struct {
		SchemaVersion int    `json:"schema_version"`
		Contract      string `json:"contract"`
	}
	if json.Unmarshal(b, &head) == nil && head.SchemaVersion > manifestSchema {
		return incompatible(head.Contract)
	}
	return damagedAuthority(cause, "manifest")
}

func (m *Manifest) lexicalSegments() []lexical.Segment {
	out := make([]lexical.Segment, len(m.Segments))
	for i, s := range m.Segments {
		out[i] = lexical.Segment(s)
	}
	return out
}

// provider returns the number of a provider id, adding it when it is new.
func (m *Manifest) provider(id string) uint16 {
	if i := slices.Index(m.Providers, id); i >= 0 {
		return uint16(i)
	}
	m.Providers = append(m.Providers, id)
	return uint16(len(m.Providers) - 1)
}

// identity computes the content-derived id: SHA-256 over the contract, the counts, the digests of certificates (content facts and
// states) and sessions, the tombstones, the source configuration, routes and roots. It says nothing of files, segments, numbers,
// clocks, sightings, append frontiers or how often a route was found absent: archives of equal content have equal ids, however they were built. Events
// need no digest of their own: the certificates hold the digest of the bytes they were read from and the parser's revision.
func (m *Manifest) identity() string {
	stats := m.Stats
	stats.Frontiers = 0
	routes, roots := append([]Route(nil), m.Routes...), append([]Root(nil), m.Roots...) // nil when empty
	for i := range routes {
		routes[i].Absent = 0
	}
	slices.SortFunc(routes, func(a, b Route) int { return strings.Compare(a.Identity, b.Identity) })
	slices.SortFunc(roots, func(a, b Root) int {
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Name, b.Name))
	})
	facts, err := json.Marshal(struct {
		Schema                                     int
		Contract                                   string
		Stats                                      Statistics
		Certificates, Sessions, Tombstones, Config string
		Routes                                     []Route
		Roots                                      []Root
	}{manifestSchema, m.Contract, stats, m.Certificates, m.Sessions, m.Tombstones, m.Config, routes, roots})
	if err != nil {
		panic(err) // strings and numbers only
	}
	sum := sha256.Sum256(append([]byte("ctx.generation.v1\x00"), facts...))
	return hex.EncodeToString(sum[:])
}
