package core

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
)

// There is one writer at a time. A second one waits a little, because most refreshes are short, then gives up.
const (
	writerWait  = 500 * time.Millisecond
	writerRetry = 5 * time.Millisecond
)

// lockWriter takes the writer lock. Fault writer_busy after 500 ms.
func (s *Store) lockWriter(ctx context.Context) (*lease, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, writerLockFile), os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, writeFailure(err)
	}
	deadline := time.Now().Add(writerWait)
	for {
		ok, err := durable.TryLock(f, true)
		if ok {
			return &lease{file: f}, nil
		}
		if err == nil && time.Now().After(deadline) {
			err = fault.New(fault.Busy, "another refresh is running").WithHint("try again in a moment").WithRetry(true)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(writerRetry):
		}
	}
}
