package lexical

import (
	"errors"
	"os"

	"github.com/blevesearch/mmap-go"
)

// mapping is the read-only content of a published file: mapped, so that all readers share the system's cached pages, or read into memory
// where the file system cannot map.
type mapping struct {
	data   []byte
	mapped mmap.MMap // nil for content that was read
}

func openMapping(path string) (mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return mapping{}, err
	}
	defer f.Close() // the mapping outlives the descriptor
	info, err := f.Stat()
	switch {
	case err != nil:
		return mapping{}, err
	case info.Size() == 0:
		return mapping{}, errors.New("file is empty")
	}
	if mapped, err := mmap.Map(f, mmap.RDONLY, 0); err == nil {
		return mapping{data: mapped, mapped: mapped}, nil
	}
	data, err := os.ReadFile(path)
	return mapping{data: data}, err
}

func (m *mapping) close() error {
	mapped := m.mapped
	m.data, m.mapped = nil, nil
	if mapped == nil {
		return nil
	}
	return mapped.Unmap()
}
