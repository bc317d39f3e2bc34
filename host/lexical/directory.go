package lexical

import (
	"errors"
	"io"

	"github.com/blugelabs/bluge/index"
	segment "github.com/blugelabs/bluge_segment_api"
)

// generationDirectory shows the engine one immutable generation: exactly one snapshot, so that there is no older one to fall back to, and
// the segment files that the Reader has mapped and checked. The engine's own file system directory would lock every file, list the
// directory, and log to the process's standard logger what it cannot open.
type generationDirectory struct {
	snapshot []byte
	segments map[uint64][]byte
}

var _ index.Directory = (*generationDirectory)(nil)

var (
	errReadOnly = errors.New("a published generation is never written")
	errNoItem   = errors.New("no such item in the generation")
)

// asDirectory is d in the form that the engine's configuration wants.
func (d *generationDirectory) asDirectory() index.Directory { return d }

func (d *generationDirectory) Setup(readOnly bool) error {
	if !readOnly {
		return errReadOnly
	}
	return nil
}

func (d *generationDirectory) List(kind string) ([]uint64, error) {
	if kind == index.ItemKindSnapshot {
		return []uint64{snapshotNumber}, nil
	}
	ids := make([]uint64, 0, len(d.segments))
	for id := range d.segments {
		ids = append(ids, id)
	}
	return ids, nil
}

// Load hands out memory that the Reader owns and releases.
func (d *generationDirectory) Load(kind string, id uint64) (*segment.Data, io.Closer, error) {
	if kind == index.ItemKindSnapshot && id == snapshotNumber {
		return segment.NewDataBytes(d.snapshot), nil, nil
	}
	if data, ok := d.segments[id]; ok && kind == index.ItemKindSegment {
		return segment.NewDataBytes(data), nil, nil
	}
	return nil, nil, errNoItem
}

func (d *generationDirectory) Stats() (items, bytes uint64) {
	for _, data := range d.segments {
		bytes += uint64(len(data))
	}
	return uint64(len(d.segments)) + 1, bytes + uint64(len(d.snapshot))
}

func (d *generationDirectory) Persist(string, uint64, index.WriterTo, chan struct{}) error {
	return errReadOnly
}

func (d *generationDirectory) Remove(string, uint64) error { return errReadOnly }
func (d *generationDirectory) Sync() error                 { return errReadOnly }
func (d *generationDirectory) Lock() error                 { return errReadOnly }
func (d *generationDirectory) Unlock() error               { return nil }
