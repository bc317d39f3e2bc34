package jsonl

import "sync/atomic"

// Work counts what was done, for tests that hold the package to its bounds. The zero Work is ready; a nil one counts nothing.
// It may be shared by goroutines.
type Work struct {
	FilesOpened, BytesRead, DirectoriesRead, FilesObserved atomic.Uint64
}

func (w *Work) fileOpened() {
	if w != nil {
		w.FilesOpened.Add(1)
	}
}

func (w *Work) fileObserved() {
	if w != nil {
		w.FilesObserved.Add(1)
	}
}

func (w *Work) directoryRead() {
	if w != nil {
		w.DirectoriesRead.Add(1)
	}
}

func (w *Work) bytesRead(n int) {
	if w != nil && n > 0 {
		w.BytesRead.Add(uint64(n))
	}
}
