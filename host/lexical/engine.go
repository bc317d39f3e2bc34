package lexical

import (
	"errors"
	"io"

	"github.com/blugelabs/bluge/index"
	segment "github.com/blugelabs/bluge_segment_api"
)

// A search runs over the engine's snapshot: the engine (bluge's index) reads the list of segments and their deletions and checks that it
// can use them. Ranking is ours: the engine's searchers and collectors allocate and compare a match for every posting; ours work term at
// a time on arrays. Only the index package is linked: the initialisation of bluge's searchers alone takes 8 ms of every process, more
// than most searches.

func engineConfig(dir *generationDirectory) index.Config {
	return index.DefaultConfigWithDirectory(func() index.Directory { return dir }).
		WithSegmentPlugin(segmentPlugin).WithSegmentType(segmentType).WithSegmentVersion(segmentVersion)
}

// openEngine opens the engine over the checked files. The segments of its snapshot must be those of the reader in the same order.
func (r *Reader) openEngine() (*index.Snapshot, error) {
	config := engineConfig(r.dir)
	var snapshot *index.Snapshot
	err := guard("the index", func() (err error) {
		snapshot, err = index.OpenReader(config)
		return err
	})
	if err == nil && !r.sameSegments(snapshot.Segments()) {
		err = errOtherSnapshot
	}
	if err != nil {
		return nil, corrupt(err, SnapshotFile, "cannot be opened")
	}
	return snapshot, nil
}

var errOtherSnapshot = errors.New("the engine has opened other segments than the reader")

func (r *Reader) sameSegments(opened []index.SegmentSnapshot) bool {
	if len(opened) != len(r.parts) {
		return false
	}
	for i, s := range opened {
		if s.ID() != uint64(r.parts[i].segment.ID) {
			return false
		}
	}
	return true
}

// generationDirectory shows the engine one immutable generation: exactly one snapshot, so that there is no older one to fall back to, and
// the segment files that the Reader has mapped and checked. The engine's own file system directory would lock every file, list the
// directory, and log to the process's standard logger what it cannot open.
type generationDirectory struct {
	snapshot []byte
	segments map[uint64][]byte
}

var (
	errReadOnly = errors.New("a published generation is never written")
	errNoItem   = errors.New("no such item in the generation")
)

func (d *generationDirectory) List(kind string) (ids []uint64, err error) {
	if kind == index.ItemKindSnapshot {
		return []uint64{snapshotNumber}, nil
	}
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

func (d *generationDirectory) Setup(readOnly bool) error {
	if !readOnly {
		return errReadOnly
	}
	return nil
}

func (d *generationDirectory) Persist(string, uint64, index.WriterTo, chan struct{}) error {
	return errReadOnly
}

func (d *generationDirectory) Stats() (items, bytes uint64) { return 0, 0 } // only writers ask
func (d *generationDirectory) Remove(string, uint64) error  { return errReadOnly }
func (d *generationDirectory) Sync() error                  { return errReadOnly }
func (d *generationDirectory) Lock() error                  { return errReadOnly }
func (d *generationDirectory) Unlock() error                { return nil }
