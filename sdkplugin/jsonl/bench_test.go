package jsonl

import "hash"

// noSum is a digest without cost, to measure reading alone.
type noSum struct{ hash.Hash }

func (noSum) Write(p []byte) (int, error) { return len(p), nil }
