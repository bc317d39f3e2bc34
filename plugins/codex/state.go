package codex

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin/transcript"
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

	Named, Prompt          string
	Models                 transcript.Models
	Times                  transcript.Times // of events
	Terminals, Occurrences prints           // of call ids, and of keys of events
}

func newState(owner meta) *state {
	return &state{
		Owner: owner, CWD: owner.CWD, Inherited: owner.Parent != "", Terminals: prints{}, Occurrences: prints{},
	}
}

// terminal tells whether a terminal record is the first of its call id.
func (s *state) terminal(callID []byte) (first bool) { return s.Terminals.next(printOf(callID)) == 0 }

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

const frontierVersion = 3

// kept returns the state if it can be part of a frontier: when its inherited prefix is not over, or there are too many prints, the
// append reads the prefix again for it.
func (s *state) kept() *state {
	if s.Inherited || len(s.Terminals) > maxTerminals || len(s.Occurrences) > transcript.MaxFrontier/printBytes {
		return nil
	}
	return s
}

// print8 stands for a text where a set must fit into a frontier: 64 bits of its SHA-256.
type print8 uint64

const printBytes = 8

func printOf(text []byte) print8 {
	sum := sha256.Sum256(text)
	return print8(binary.BigEndian.Uint64(sum[:]))
}

// prints counts how often texts came. Its form is eight bytes for every text and the number of times after the first, in base64.
type prints map[print8]uint64

// next returns how often a text came before, and counts it.
func (p prints) next(text print8) uint64 {
	n := p[text]
	p[text] = n + 1
	return n
}

// MarshalText writes the form.
func (p prints) MarshalText() ([]byte, error) {
	var b []byte
	for _, text := range slices.Sorted(maps.Keys(p)) {
		b = binary.AppendUvarint(binary.BigEndian.AppendUint64(b, uint64(text)), p[text]-1)
	}
	return base64.RawStdEncoding.AppendEncode(nil, b), nil
}

var errPrints = errors.New("no prints")

// UnmarshalText reads the form.
func (p *prints) UnmarshalText(text []byte) error {
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	for *p = (prints{}); len(b) > printBytes && err == nil; {
		again, length := binary.Uvarint(b[printBytes:])
		if length <= 0 {
			return errPrints
		}
		(*p)[print8(binary.BigEndian.Uint64(b))] = again + 1
		b = b[printBytes+length:]
	}
	if len(b) > 0 {
		return errPrints
	}
	return err
}
