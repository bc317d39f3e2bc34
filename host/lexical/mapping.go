package lexical

import (
	"errors"
	"os"
)

// mapping is the read-only content of a published file: mapped, so that all readers share the system's cached pages, or read into memory
// where the file system cannot map.
type mapping struct {
	data  []byte
	unmap func() error // nil for content that was read
}

var errEmptyFile = errors.New("file is empty")

func openMapping(path string) (mapping, error) {
	m, err := mapFile(path)
	if err == nil || errors.Is(err, errEmptyFile) || errors.Is(err, os.ErrNotExist) {
		return m, err
	}
	data, err := os.ReadFile(path)
	if err == nil && len(data) == 0 {
		err = errEmptyFile
	}
	return mapping{data: data}, err
}

func (m *mapping) close() error {
	unmap := m.unmap
	m.data, m.unmap = nil, nil
	if unmap == nil {
		return nil
	}
	return unmap()
}
