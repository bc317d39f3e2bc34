package retention

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/record"
)

// The list lies beside the generations: one tombstone a line, as JSON, in the order of the digests.
const (
	listFile = "forgotten.jsonl"
	maxLine  = 1 << 20
)

// tombstone is one line of the list. The ids are those the session had, so that it can be named when the tombstone is to be lifted.
type tombstone struct {
	Digest   string   `json:"tombstone"` // 64 hex digits
	Provider string   `json:"provider"`
	Sessions []string `json:"sessions"` // full ids, one for every root that held it
}

// Forgotten is the list of tombstones. It is read only between its changes and safe for concurrent use then.
type Forgotten struct {
	path    string
	list    []tombstone
	numbers map[uint64]bool
}

// Tombstone is the digest of a session that is forgotten: SHA-256 over the domain, then provider, session kind and native key, each with
// its length. The root that a session lies below plays no part.
func Tombstone(provider, kind string, key []byte) record.Digest {
	b := []byte("ctx.forget.v1\x00")
	for _, part := range [][]byte{[]byte(provider), []byte(kind), key} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(part))), part...)
	}
	return sha256.Sum256(b)
}

// Number is a digest in the short form that certificates keep; never 0.
func Number(d record.Digest) uint64 { return max(1, binary.BigEndian.Uint64(d[:8])) }

// LoadForgotten reads the list of a data root. A list that cannot be read in full is a fault: without it, what was forgotten would come
// back.
func LoadForgotten(dataRoot string) (*Forgotten, error) {
	f := &Forgotten{path: filepath.Join(dataRoot, listFile), numbers: map[uint64]bool{}}
	content, err := durable.ReadFile(f.path, math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, unreadable(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var t tombstone
		digest := record.Digest{}
		err := json.Unmarshal(lines.Bytes(), &t)
		if n, hexErr := hex.Decode(digest[:], []byte(t.Digest[:min(len(t.Digest), 64)])); err == nil && (hexErr != nil || n != len(digest)) {
			err = errors.New("a malformed digest")
		}
		if err != nil {
			return nil, unreadable(err)
		}
		f.list = append(f.list, t)
		f.numbers[Number(digest)] = true
	}
	if err := lines.Err(); err != nil {
		return nil, unreadable(err)
	}
	return f, nil
}

func unreadable(cause error) error {
	return fault.Wrap(cause, fault.ResourceUnavailable, "the list of forgotten sessions, %s in the data root, cannot be read", listFile).
		WithHint("Mend the file or put back a copy; without it, forgotten sessions would be imported again")
}

// Has tells whether a session is forgotten, and the number of its tombstone.
func (f *Forgotten) Has(provider, kind string, key []byte) (uint64, bool) {
	if len(f.numbers) == 0 {
		return 0, false
	}
	n := Number(Tombstone(provider, kind, key))
	return n, f.numbers[n]
}

// Lifted tells whether one of these tombstones is on the list no more.
func (f *Forgotten) Lifted(numbers []uint64) bool {
	return slices.ContainsFunc(numbers, func(n uint64) bool { return !f.numbers[n] })
}

// Digest identifies the list: SHA-256 over the tombstones in order, as hex, "" when there is none.
func (f *Forgotten) Digest() string {
	if len(f.list) == 0 {
		return ""
	}
	h := sha256.New()
	for _, t := range f.list {
		h.Write([]byte(t.Digest))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Find returns the full ids of forgotten sessions that start like a text of hex digits, and the provider of the first.
func (f *Forgotten) Find(prefix string) (ids []string, provider string) {
	for _, t := range f.list {
		for _, id := range t.Sessions {
			if bytes.HasPrefix(hexDigits(id), []byte(prefix)) {
				ids, provider = append(ids, id), cmp.Or(provider, t.Provider)
			}
		}
	}
	return ids, provider
}

func hexDigits(id string) []byte { return bytes.ReplaceAll([]byte(id), []byte("-"), nil) }

// with returns the list with one tombstone more; the ids are added to what is known of it.
func (f *Forgotten) with(digest record.Digest, provider string, ids []string) *Forgotten {
	next := &Forgotten{path: f.path, list: slices.Clone(f.list), numbers: map[uint64]bool{Number(digest): true}}
	for n := range f.numbers {
		next.numbers[n] = true
	}
	text := digest.Hex()
	at, known := slices.BinarySearchFunc(next.list, text, func(t tombstone, text string) int { return cmp.Compare(t.Digest, text) })
	if !known {
		next.list = slices.Insert(next.list, at, tombstone{Digest: text, Provider: provider})
	}
	all := append(slices.Clone(next.list[at].Sessions), ids...)
	slices.Sort(all)
	next.list[at].Sessions = slices.Compact(all)
	return next
}

// lift takes the tombstone of a session off the list and returns its provider; false when there is none.
func (f *Forgotten) lift(id string) (provider string, ok bool) {
	at := slices.IndexFunc(f.list, func(t tombstone) bool { return slices.Contains(t.Sessions, id) })
	if at < 0 {
		return "", false
	}
	provider = f.list[at].Provider
	f.list = slices.Delete(f.list, at, at+1)
	return provider, true
}

// write replaces the file. An empty list has none.
func (f *Forgotten) write() error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	var err error
	for _, t := range f.list {
		err = errors.Join(err, enc.Encode(t))
	}
	if err == nil {
		err = durable.Replace(f.path, b.Bytes(), 0o600)
	}
	if err != nil {
		return fault.Wrap(err, fault.ResourceUnavailable, "the list of forgotten sessions cannot be written")
	}
	return nil
}
