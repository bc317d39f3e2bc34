package core

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/agenthistory/ctx/host/record"
)

// spoolMemory is how many bytes a spool keeps in memory before it moves to disk.
const spoolMemory = 4 << 20

// spool keeps the records of the excluded events of one open source, because they may have to be stored again as searchable ones and
// a table can be read only when it is complete. There are few of them, but they may be large.
type spool struct {
	c      *Candidate
	places map[record.Digest]spooled
	memory []byte
	file   *os.File
	size   int64
}

type spooled struct {
	offset int64
	length int
	disk   bool
}

func (s *spool) put(id record.Digest, encoded []byte) error {
	if s.places == nil {
		s.places = map[record.Digest]spooled{}
	}
	if len(s.memory)+len(encoded) <= spoolMemory {
		s.places[id] = spooled{offset: int64(len(s.memory)), length: len(encoded)}
		s.memory = append(s.memory, encoded...)
		return nil
	}
	if s.file == nil {
		f, err := os.CreateTemp(filepath.Join(s.c.path, stagingDir), "spool-")
		if err != nil {
			return err
		}
		s.file = f
	}
	if err := s.c.store.mayWrite(len(encoded)); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(encoded, s.size); err != nil {
		return err
	}
	s.places[id] = spooled{offset: s.size, length: len(encoded), disk: true}
	s.size += int64(len(encoded))
	return nil
}

// get returns the record of an event, nil when it is not kept.
func (s *spool) get(id record.Digest) ([]byte, error) {
	p, ok := s.places[id]
	if !ok {
		return nil, nil
	}
	b := make([]byte, p.length)
	if !p.disk {
		copy(b, s.memory[p.offset:])
		return b, nil
	}
	_, err := s.file.ReadAt(b, p.offset)
	return b, err
}

func (s *spool) forget(id record.Digest) { delete(s.places, id) }

func (s *spool) close() error {
	var err error
	if s.file != nil {
		err = errors.Join(s.file.Close(), os.Remove(s.file.Name()))
	}
	*s = spool{c: s.c}
	return err
}
