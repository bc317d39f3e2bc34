package codex

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// Bounds of what a scan remembers of calls.
const (
	maxPending   = 24
	maxCallID    = 1024 // bytes of the id of a pending call
	maxTerminals = 4096 // terminal records that a frontier may hold
)

// pendingCall is a call whose result has not come. Exec: its tool runs commands. Poisoned: a second call has the id.
type pendingCall struct {
	ID             string
	Exec, Poisoned bool
}

// state is what the reading of a file has learned so far. A full scan builds it from nothing; an append goes on from the one in
// the frontier, or from one that the prefix is read again for, so that all end in the same state.
type state struct {
	Owner  meta
	Others owners // all session_meta lines
	CWD    string // of the running turn

	Pending   []pendingCall // oldest first
	Doubled   bool          // a record names a call id twice: no later result of the file proves anything
	LocalTurn bool
	Inherited bool // the inherited prefix may go on
	Compared  bool // the parent's rollout was there
	Messages  bool // a message came as a response item, so that event messages are copies
	Fallback  bool // an event message became an event

	Model, Named, Prompt string
	Models               []string
	Started, Ended       time.Time

	terminals   map[print8]bool
	occurrences map[print8]uint64
}

// maxModels bounds the list of different models.
const maxModels = 64

func newState(owner meta) *state {
	return &state{
		Owner: owner, CWD: owner.CWD, Started: owner.Start, Inherited: owner.Parent != "",
		terminals: map[print8]bool{}, occurrences: map[print8]uint64{},
	}
}

// terminal tells whether a terminal record is the first of its call id.
func (s *state) terminal(callID []byte) (first bool) {
	id := printOf(callID)
	first = !s.terminals[id]
	s.terminals[id] = true
	return first
}

func (s *state) occurrence(key print8) uint64 {
	n := s.occurrences[key]
	s.occurrences[key] = n + 1
	return n
}

// call adds a pending call.
func (s *state) call(id []byte, exec bool) {
	if len(id) > maxCallID {
		return
	}
	for i := range s.Pending {
		if s.Pending[i].ID == string(id) {
			s.Pending[i].Poisoned = true
			return
		}
	}
	if len(s.Pending) == maxPending {
		s.Pending = slices.Delete(s.Pending, 0, 1)
	}
	s.Pending = append(s.Pending, pendingCall{ID: string(id), Exec: exec})
}

// finish removes the pending call of a result and tells whether it is proven to be of a tool that runs commands.
func (s *state) finish(id []byte) (exec bool) {
	for i, p := range s.Pending {
		if p.ID == string(id) {
			s.Pending = slices.Delete(s.Pending, i, i+1)
			return p.Exec && !p.Poisoned
		}
	}
	return false
}

func (s *state) learnModel(name string) {
	if name == "" || name == s.Model {
		return
	}
	s.Model = name
	if len(s.Models) < maxModels && !slices.Contains(s.Models, name) {
		s.Models = append(s.Models, name)
	}
}

// seen takes the time of an event.
func (s *state) seen(at time.Time) {
	if at.IsZero() {
		return
	}
	if s.Started.IsZero() || at.Before(s.Started) {
		s.Started = at
	}
	if at.After(s.Ended) {
		s.Ended = at
	}
}

// A frontier is what an append needs to go on: which file was read, how many lines, what the parents looked like, and the state.
// Its form is a length and JSON, then eight bytes for every terminal, and for every key eight bytes and its count. A state that does not fit, or whose inherited prefix is not over, is left out; the append then reads the prefix
// again for it.
type frontier struct {
	Version        int
	Device, FileID uint64
	Lines          uint64
	Parents        []byte `json:",omitempty"`
	State          *state `json:",omitempty"`
	Terminals      int
}

const (
	frontierVersion = 2
	maxFrontier     = 48 << 10 // leaves room for what the host adds
	lengthBytes     = 4
	printBytes      = 8
)

// encode returns at most limit bytes, or the little that is never left out.
func (f frontier) encode(limit int) []byte {
	f.Version, f.Terminals = frontierVersion, 0
	if s := f.State; s != nil && (s.Inherited || len(s.terminals) > maxTerminals || len(s.occurrences) > limit/printBytes) {
		f.State = nil
	}
	var sets []byte
	if s := f.State; s != nil {
		f.Terminals = len(s.terminals)
		for _, id := range slices.Sorted(maps.Keys(s.terminals)) {
			sets = binary.BigEndian.AppendUint64(sets, uint64(id))
		}
		for _, key := range slices.Sorted(maps.Keys(s.occurrences)) {
			sets = binary.AppendUvarint(binary.BigEndian.AppendUint64(sets, uint64(key)), s.occurrences[key])
		}
	}
	text, err := json.Marshal(f)
	if f.State != nil && (err != nil || lengthBytes+len(text)+len(sets) > limit) {
		f.State, f.Terminals, sets = nil, 0, nil
		text, _ = json.Marshal(f) // numbers
	}
	dst := binary.BigEndian.AppendUint32(make([]byte, 0, lengthBytes+len(text)+len(sets)), uint32(len(text)))
	return append(append(dst, text...), sets...)
}

var errFrontier = errors.New("the frontier is none of this provider")

func parseFrontier(src []byte) (f frontier, err error) {
	if len(src) < lengthBytes || uint64(binary.BigEndian.Uint32(src)) > uint64(len(src)-lengthBytes) {
		return f, errFrontier
	}
	end := lengthBytes + int(binary.BigEndian.Uint32(src))
	decoder := json.NewDecoder(bytes.NewReader(src[lengthBytes:end]))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&f) != nil || f.Version != frontierVersion {
		return frontier{}, errFrontier
	}
	sets, s := src[end:], f.State
	if s == nil {
		if len(sets) > 0 || f.Terminals != 0 {
			return frontier{}, errFrontier
		}
		return f, nil
	}
	s.terminals, s.occurrences = map[print8]bool{}, map[print8]uint64{}
	for n := 0; len(sets) > 0; n++ {
		if len(sets) < printBytes {
			return frontier{}, errFrontier
		}
		key := print8(binary.BigEndian.Uint64(sets))
		sets = sets[printBytes:]
		if n < f.Terminals {
			s.terminals[key] = true
			continue
		}
		count, length := binary.Uvarint(sets)
		if length <= 0 {
			return frontier{}, errFrontier
		}
		s.occurrences[key], sets = count, sets[length:]
	}
	if len(s.terminals) != f.Terminals {
		return frontier{}, errFrontier
	}
	return f, nil
}
