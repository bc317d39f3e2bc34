package claude

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/digest"
)

// A frontier is what an append needs to go on: which file was read and how many lines, the lineage that a sidecar gave, and the
// state of the mapping but for the uuids. Those are found again in the certified prefix, which has to be read for its digest
// anyway: every text under a key `uuid`, at any depth, may be one. Only when a new record has such a text as its uuid the prefix
// is parsed to find out. A state that does not fit is left out; the append then always parses the prefix.

// maxFrontier is the longest frontier that is written; maxRare is how many hashes it may hold.
const (
	maxFrontier     = 48 << 10
	maxRare         = 1 << 10
	frontierVersion = 2
)

// frontier is the decoded form, JSON on the way.
type frontier struct {
	Version        int
	Device, FileID uint64
	Lines          uint64
	Parent         string // agent that started the agent, as the sidecar says
	State          *state `json:",omitempty"`
}

// encode returns at most limit bytes, or the little that is never left out.
func (f frontier) encode(limit int) []byte {
	f.Version = frontierVersion
	if s := f.State; s != nil && (s.oddKey || len(s.Pairs)+len(s.Links)+len(s.Occurrences) > maxRare) {
		f.State = nil
	}
	dst, err := json.Marshal(f)
	if f.State != nil && (err != nil || len(dst) > limit) {
		f.State = nil
		dst, _ = json.Marshal(f) // numbers and a text
	}
	return dst
}

var errFrontier = errors.New("the frontier is none of this provider")

func parseFrontier(src []byte) (f frontier, err error) {
	if err = json.Unmarshal(src, &f); err != nil {
		return frontier{}, err
	}
	if f.Version != frontierVersion || f.State != nil && f.State.Lineage > lineageResumed {
		return frontier{}, errFrontier
	}
	if f.State != nil {
		f.State.ready()
	}
	return f, nil
}

// fingerprint stands for a text in sets of any size.
type fingerprint = digest.Print

type fingerprints map[fingerprint]bool

func fingerprintOf(text []byte) fingerprint { return digest.Of(text) }

// pairOf is the fingerprint of a message id and the index of an event.
func pairOf(id []byte, idx int) fingerprint {
	var room [64]byte
	return fingerprintOf(binary.BigEndian.AppendUint64(append(room[:0], id...), uint64(idx)))
}

var uuidKey = []byte(`"uuid"`)

// collect adds every text that stands under a key `uuid` of a line, whatever the line is. Inside of strings the quotes would be
// escaped.
func (s fingerprints) collect(line []byte) {
	for {
		at := bytes.Index(line, uuidKey)
		if at < 0 {
			return
		}
		line = line[at+len(uuidKey):]
		literal := bytes.TrimLeft(line, " \t\r:")
		if len(literal) == 0 || literal[0] != '"' {
			continue
		}
		end := 1
		for end < len(literal) && literal[end] != '"' {
			if literal[end] == '\\' {
				end++
			}
			end++
		}
		if end < len(literal) {
			if text, err := canonical.Unquote(nil, literal[:end+1]); err == nil {
				s[fingerprintOf(text)] = true
			}
		}
	}
}

// plainKey tells whether collect finds v, the uuid of a record: its key may be written with escapes.
func plainKey(record, v canonical.Value) bool {
	start, _ := record.Span()
	at, _ := v.Span()
	return bytes.HasSuffix(bytes.TrimRight(record.Raw()[:at-start], " \t\r:"), uuidKey)
}
