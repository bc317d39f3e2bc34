package jsonl

import (
	"context"
	"runtime"
	"sync"
)

// Heads reads the first bytes of many files of one route, at most limit of each, and hands them to each with the place of the
// file in entries. Files of one directory should stand together, as a walk leaves them: their directory is opened once. each is
// called by several goroutines at a time, its bytes are valid until it returns; a file that cannot be read is passed over.
func Heads(ctx context.Context, route string, entries []Entry, limit int, work *Work, each func(place int, head []byte)) error {
	const least = 64 // entries that are worth a goroutine
	parts := min(runtime.GOMAXPROCS(0), 1+len(entries)/least)
	var readers sync.WaitGroup
	for part := range parts {
		from, to := part*len(entries)/parts, (part+1)*len(entries)/parts
		readers.Go(func() {
			r := headReader{route: route}
			defer r.close()
			buf := make([]byte, limit)
			for place := from; place < to && ctx.Err() == nil; place++ {
				if n, err := r.read(entries[place].Locator, buf); err == nil {
					work.fileOpened()
					work.bytesRead(n)
					each(place, buf[:n])
				}
			}
		})
	}
	readers.Wait()
	return ctx.Err()
}
