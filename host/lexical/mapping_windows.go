package lexical

import (
	"os"

	"github.com/blevesearch/mmap-go"
)

// mapFile maps a whole file.
func mapFile(path string) (mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return mapping{}, err
	}
	defer f.Close() // the mapping outlives the handle
	info, err := f.Stat()
	if err != nil {
		return mapping{}, err
	}
	if info.Size() == 0 {
		return mapping{}, errEmptyFile
	}
	mapped, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return mapping{}, err
	}
	return mapping{data: mapped, unmap: mapped.Unmap}, nil
}
