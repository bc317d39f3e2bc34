package search

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// readers is how many goroutines read records at the same time. A cold read is mostly opening a table and unpacking a block, so
// reading the few records of an answer side by side halves the wait on two processors; more than four gain nothing.
var readers = min(runtime.GOMAXPROCS(0), 4)

// inParallel calls work for every number below n, from several goroutines with a state of their own, and returns one of the errors.
func inParallel[S any](n int, work func(state *S, i int) error) error {
	if n < 2 || readers < 2 {
		var state S
		for i := range n {
			if err := work(&state, i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	for range min(readers, n) {
		group.Go(func() {
			var state S
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := work(&state, i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
